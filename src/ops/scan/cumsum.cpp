#include "ops/common.h"
#include "ops/index/indexed.h"
#include "ops/scan/scanning.h"

namespace dyadic::inline v1::ops::cumsum_op {
namespace {

void infer(Call& c) { infer_scan(c, 2); }

Tensor complex_parts(Args a) {
  const Arg parts[] = {a.arg(arg::self), a.arg(arg::dim), Arg()};
  return by_parts(Op::cumsum_, parts, 3);
}
void backward(Grad& g) {
  if (g.in_meta(arg::self).ndim == 0) return g.set(arg::self, g.g());
  const int64_t dim = g[arg::dim];
  g.set(arg::self, flip(cumsum(flip(g.g(), {dim}), dim), {dim}));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    .doc =
        "The sums of the entries of dim so far. Integers are added as int64; f32 sums are kept in f64 and rounded once each.",
    .amp = Amp::f32,
    .samples =
        "cumsum(randn(3, 4), 1)\n"
        "cumsum(randn(3, 4), 0)\n"
        "cumsum(randn(2, 3, 4), -2)\n"
        "cumsum(randn(), 0)\n"
        "cumsum(randn(0, 2), 0)\n"
        "cumsum(randn(2, 301), 1)",
    .bad = "cumsum(zeros(2), 1) => cumsum: dimension out of range: dim is 1; expected -1 to 0",
    .infer = infer,
    .backward = backward,
    .flops = reduction_flops,
    .complex = complex_parts,
};
extern constexpr Kernel cpu = {.plan = plan_scan<ScanOp::sum>, .dense = true};

}  // namespace dyadic::inline v1::ops::cumsum_op
