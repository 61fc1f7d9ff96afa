#include "ops/common.h"

namespace dyadic::inline v1::ops::masked_scatter_op {
namespace {

Tensor compose(Args a) {
  const Tensor &self = a[arg::self], &mask = a[arg::mask], &source = a[arg::source];
  DY_CHECK_AS(TypeError, mask.dtype() == boolean, "masked_scatter: the mask is bool: mask is {}", describe(mask));
  DY_CHECK_AS(TypeError, plain(self) == plain(source), "masked_scatter: the dtypes differ: self is {}, source is {}",
              describe(self), describe(source));
  Spec common;
  const Arg both[] = {a.arg(arg::self), a.arg(arg::mask)};
  broadcast_shapes("masked_scatter", common, both, 2);
  return call(Op::decompress_, expand(self, common.shape()), contiguous(expand(mask, common.shape())), source);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    .doc = "self with the elements of source, one after the other, where mask (bool, broadcast to self) is true.",
    .kind = OpKind::composite,
    .inplace = true,
    .samples =
        "masked_scatter(randn(3, 4), mask(3, 4), randn(12))\n"
        "masked_scatter(randn(2, 3), mask(3), randn(2, 4))",
    .bad = "masked_scatter(zeros(2), zeros(2), zeros(2)) => masked_scatter: the mask is bool: mask is f32[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::masked_scatter_op
