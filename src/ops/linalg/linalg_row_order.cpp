#include <numeric>

#include "ops/linalg/lu.h"

namespace dyadic::inline v1::ops::linalg_row_order_op {
namespace {

constexpr const char* kName = "linalg.row_order";

void infer(Call& c) {
  const Tensor& p = c.tensor(0);
  check_pivots(kName, p, "self");
  DY_CHECK(p.dim() >= 1 && c.integer(1) >= p.size(-1), "{}: fewer rows than pivots: self is {}, m is {}", kName, describe(p),
           c.integer(1));
  set_spec(c.spec[0], p, i64, {p.sizes().begin(), p.sizes().size() - 1}, {c.integer(1)});
}
void forward(Call& c) {
  const int64_t m = c.integer(1), k = c.tensor(0).size(-1), batch = count({c.spec[0].sizes, size_t(c.spec[0].ndim) - 1});
  auto* order = c.out[0].data<int64_t>();
  for (int64_t i = 0; i < batch; ++i, order += m) {
    std::iota(order, order + m, int64_t(0));
    for (int64_t r = 0; r < k; ++r) std::swap(order[r], order[pivot_at(kName, c.tensor(0), i * k + r, m) - 1]);
  }
}

double flops(const Call& c) { return double(c.spec[0].numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_row_order(Tensor self, int m) -> Tensor",
    .doc =
        "The order in which pivots of an LU factorization put the m rows: row i was row order[i]. int32 [..., k] -> int64 "
        "[..., m].",
    .samples =
        "linalg_row_order(indices(4; 3), 3)\n"
        "linalg_row_order(indices(3; 2), 4)\n"
        "linalg_row_order(indices(1; 2, 0), 4)",
    .bad =
        "linalg_row_order(indices(2; 4), 4) => linalg.row_order: a pivot out of range: self is i64[4], one of them 0; expected "
        "1 to 4\n"
        "linalg_row_order(zeros(3), 4) => linalg.row_order: pivots are int32 numbers: self is f32[3]",
    .infer = infer,
    .forward = forward,
    .flops = flops,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::linalg_row_order_op
