#include <numeric>

#include "corridor/batching.h"
#include "ops/linalg/lu.h"

namespace dyadic::inline v1::ops::linalg_row_order_op {
namespace {

constexpr const char* kName = "linalg.row_order";

void infer(Call& c) {
  const Tensor& p = c[arg::self];
  check_pivots(kName, p, "self");
  DY_CHECK(p.dim() >= 1 && c[arg::m] >= p.size(-1), "{}: fewer rows than pivots: self is {}, m is {}", kName, describe(p),
           c[arg::m]);
  set_spec(c.spec[0], p, i64, {p.sizes().begin(), p.sizes().size() - 1}, {c[arg::m]});
}
struct Parameters {
  Operand pivots;
  int64_t batch, m;
};
void run(const Parameters& p, const Pointers& at) {
  const Array pivots = at.input(0, p.pivots);
  const int64_t k = pivots.size(-1);
  auto* order = static_cast<int64_t*>(at.out[0]);
  for (int64_t i = 0; i < p.batch; ++i, order += p.m) {
    std::iota(order, order + p.m, int64_t(0));
    for (int64_t r = 0; r < k; ++r) std::swap(order[r], order[pivot_at(kName, pivots, i * k + r, p.m) - 1]);
  }
}
void plan(Call& c) {
  c.plan.set<run>(Parameters{c.operand(arg::self), count({c.spec[0].sizes, size_t(c.spec[0].ndim) - 1}), c[arg::m]});
}

double flops(const Call& c) { return double(c.spec[0].numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_row_order(Tensor self, int m) -> Tensor",
    .doc =
        "The order in which pivots of an LU factorization put the m rows: row i was row order[i]. int32 [..., k] -> int64 "
        "[..., m].",
    .internal = true,
    .samples =
        "linalg_row_order(indices(4; 3), 3)\n"
        "linalg_row_order(indices(3; 2), 4)\n"
        "linalg_row_order(indices(1; 2, 0), 4)",
    .bad =
        "linalg_row_order(indices(2; 4), 4) => linalg.row_order: a pivot out of range: self is i64[4], one of them 0; expected "
        "1 to 4\n"
        "linalg_row_order(zeros(3), 4) => linalg.row_order: pivots are int32 numbers: self is f32[3]",
    .infer = infer,
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_row_order_op
