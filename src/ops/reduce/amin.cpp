#include "ops/reduce/reduction.h"

namespace dyadic::inline v1::ops {
namespace {

void infer(Call& c) {
  check_comparable(c);
  infer_reduction(c, 2, c.tensor(0).dtype().is_scaled() ? f32 : c.tensor(0).dtype());
}
void forward(Call& c) { run_reduction(c, ReduceOp::min); }
int64_t workspace(const Call& c) { return reduction_workspace(c, ReduceOp::min); }
void backward(Grad& g) {
  // Where there are NaN the result is NaN, and they are what it was taken from.
  const Tensor x = g.in(0);
  Tensor hit = logical_or(eq(x, keep_dims(g.out(), g.in_meta(0), g.node.args[1])), isnan(x)).to(g.in_meta(0).dtype);
  Tensor count = sum(hit, IntList(g.node.args[1].ints, g.node.args[1].kind == Arg::Kind::ints ? g.node.args[1].n : 0), true);
  g.set(0, mul(div(keep_dims(g.g(), g.in_meta(0), g.node.args[1]), count), hit));
}

}  // namespace

extern constexpr OpDef amin_op = {
    .sig = "amin(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    .doc =
        "The smallest element over dim (all dimensions if absent); NaN if there is one. Equal smallest elements share the "
        "gradient.",
    .samples = "amin(randn(3, 4), [0])",
    .bad = "amin(zeros(0)) => amin: nothing to compare: self is f32[0]",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(0) | out(0)},
    .flops = reduction_flops,
    .workspace = workspace,
};

}  // namespace dyadic::inline v1::ops
