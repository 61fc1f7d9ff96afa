#include "ops/common.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::masked_select_op {
namespace {

Tensor compose(Args a) {
  const Tensor &self = a[arg::self], &mask = a[arg::mask];
  DY_CHECK_AS(TypeError, mask.dtype() == boolean, "masked_select: the mask is bool: mask is {}", describe(mask));
  check_has_values("masked_select", mask);
  Spec common;
  const Arg both[] = {a.arg(arg::self), a.arg(arg::mask)};
  broadcast_shapes("masked_select", common, both, 2);
  const Tensor wide = contiguous(expand(mask, common.shape()));
  return call(Op::compress_, expand(self, common.shape()), wide, count_true(wide));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "masked_select(Tensor self, Tensor mask) -> Tensor",
    .doc =
        "The elements where mask (bool, broadcast) is true, in row-major order, in one dimension. Its size depends on values.",
    .kind = OpKind::composite,
    .samples =
        "masked_select(randn(3, 4), mask(3, 4))\n"
        "masked_select(randn(3), mask(2, 1))\n"
        "masked_select(randn(0, 2), mask(0, 2))\n"
        "masked_select(randn(), mask())",
    .bad = "masked_select(zeros(2), zeros(2)) => masked_select: the mask is bool: mask is f32[2]",
    .skip = "meta: the size depends on values",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::masked_select_op
