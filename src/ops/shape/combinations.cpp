#include <algorithm>

#include "ops/common.h"

namespace dyadic::inline v1::ops::combinations_op {
namespace {

// How many choices, at most `limit`: the products stay below limit n.
int64_t choices(int64_t n, int64_t r, bool again, int64_t limit) {
  if (again) n += r - 1;
  if (r > n) return 0;
  __int128 count = 1;
  for (int64_t k = 1; k <= std::min(r, n - r) && count < limit; ++k) count = count * (n - k + 1) / k;
  return int64_t(std::min<__int128>(count, limit));
}

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  const int64_t n = t.numel(), r = a[arg::r];
  DY_CHECK(t.dim() == 1, "combinations: needs a 1-d tensor: self is {}", describe(t));
  DY_CHECK(r >= 0, "combinations: negative r: r is {}", r);
  if (r == 0) return empty({0}, plain(t), t.device());
  constexpr int64_t kMost = int64_t(1) << 50;
  const int64_t rows = r < kMost ? choices(n, r, a[arg::with_replacement], kMost) : kMost;
  DY_CHECK_AS(ValueError, rows < kMost / r, "combinations: too large: the choices of {} among {} elements are more than fit", r,
              n);
  const int64_t step = a[arg::with_replacement] ? 0 : 1;
  const Tensor index = empty({rows * r}, i64);
  int64_t* out = index.data<int64_t>();
  std::vector<int64_t> at(rows ? size_t(r) : 0, 0);
  for (int64_t k = 0; k < int64_t(at.size()); ++k) at[size_t(k)] = k * step;
  auto limit = [&](int64_t k) { return n - 1 - (r - 1 - k) * step; };
  for (int64_t row = 0; row < rows; ++row) {
    out = std::copy(at.begin(), at.end(), out);
    int64_t k = r - 1;
    while (k > 0 && at[size_t(k)] >= limit(k)) --k;
    ++at[size_t(k)];
    for (int64_t j = k + 1; j < r; ++j) at[size_t(j)] = at[size_t(j - 1)] + step;
  }
  return reshape(index_select(t, 0, index.to(t.device())), {rows, r});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
    .doc = "All choices of r elements of a 1-d tensor, one per row, in the order of itertools.combinations.",
    .kind = OpKind::composite,
    .samples =
        "combinations(randn(4))\n"
        "combinations(randn(3), 2, True)\n"
        "combinations(randn(2), 3)",
    .bad =
        "combinations(zeros(2, 2)) => combinations: needs a 1-d tensor: self is f32[2, 2]\n"
        "combinations(zeros(100), 50) => combinations: too large: the choices of 50 among 100 elements are more than fit",
    .skip = "threads: the result has the product of the sizes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::combinations_op
