#include <cmath>

#include "ops/common.h"

namespace dyadic::inline v1::ops::linalg_multi_dot_op {
namespace {

// The cheapest order of multiplication, by dynamic programming over intervals (Cormen et al., Introduction to
// Algorithms, 15.2).
struct Chain {
  std::span<const Tensor> factors;
  size_t n;
  std::vector<size_t> cut;  // [i * n + j]: the product i ... j is split behind it

  explicit Chain(std::span<const Tensor> factors) : factors(factors), n(factors.size()), cut(n * n) {
    std::vector<double> cost(n * n, 0);
    auto rows = [&](size_t i) { return double(factors[i].size(0)); };
    auto cols = [&](size_t i) { return double(factors[i].size(1)); };
    for (size_t length = 1; length < n; ++length)
      for (size_t i = 0; i + length < n; ++i) {
        const size_t j = i + length;
        cost[i * n + j] = HUGE_VAL;
        for (size_t k = i; k < j; ++k) {
          const double c = cost[i * n + k] + cost[(k + 1) * n + j] + rows(i) * cols(k) * cols(j);
          if (c < cost[i * n + j]) cost[i * n + j] = c, cut[i * n + j] = k;
        }
      }
  }
  Tensor product(size_t i, size_t j) const {
    if (i == j) return factors[i];
    const size_t k = cut[i * n + j];
    return matmul(product(i, k), product(k + 1, j));
  }
};

Tensor compose(Args a) {
  const std::span<const Tensor> given = a[arg::tensors];
  const char* who = "linalg.multi_dot";
  DY_CHECK(given.size() >= 2, "{}: needs at least two tensors: it got {}", who, given.size());
  std::vector<Tensor> factors(given.begin(), given.end());
  const bool row = factors.front().dim() == 1, column = factors.back().dim() == 1;
  if (row) factors.front() = unsqueeze(factors.front(), 0);
  if (column) factors.back() = unsqueeze(factors.back(), 1);
  for (size_t i = 0; i < factors.size(); ++i) {
    DY_CHECK(factors[i].dim() == 2, "{}: needs matrices, vectors at either end: tensor {} is {}", who, i, describe(given[i]));
    DY_CHECK(i == 0 || factors[i - 1].size(1) == factors[i].size(0), "{}: inner sizes differ: tensor {} is {}, tensor {} is {}",
             who, i - 1, describe(given[i - 1]), i, describe(given[i]));
  }
  Tensor r = Chain(factors).product(0, factors.size() - 1);
  if (row) r = squeeze(r, 0);
  return column ? squeeze(r, -1) : r;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_multi_dot(Tensor[] tensors) -> Tensor",
    .doc =
        "The product of two or more matrices, in the order of multiplication that takes the fewest operations; the first and "
        "the "
        "last may be vectors.",
    .kind = OpKind::composite,
    .samples =
        "linalg_multi_dot([randn(2, 3), randn(3, 4)])\n"
        "linalg_multi_dot([randn(2, 5), randn(5, 3), randn(3, 4), randn(4, 2)])\n"
        "linalg_multi_dot([randn(3), randn(3, 4), randn(4)])",
    .bad =
        "linalg_multi_dot([zeros(2, 3), zeros(2, 3)]) => linalg.multi_dot: inner sizes differ: tensor 0 is f32[2, 3], tensor 1 "
        "is "
        "f32[2, 3]\n"
        "linalg_multi_dot([zeros(2, 3)]) => linalg.multi_dot: needs at least two tensors: it got 1",
    .skip = "layout_bits: the strides of its operands decide which kernel multiplies",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_multi_dot_op
