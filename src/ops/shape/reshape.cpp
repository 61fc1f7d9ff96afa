#include "ops/common.h"

namespace dyadic::inline v1::ops::reshape_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  int64_t sizes[kMaxDims];
  IntList size = resolve_size("reshape", {a.arg(arg::shape).ints, a.arg(arg::shape).n}, t.numel(), sizes);
  return view(can_view(t, size) ? t : clone(t), size);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "reshape(Tensor self, int[] shape) -> Tensor",
    .doc = "The same elements under another shape: a view where strides allow it, else a copy. One size may be -1.",
    .kind = OpKind::composite,
    .samples = "reshape(randn(2, 6), [3, 4])\nreshape(randn(2, 3, 64), [-1, 64])\nreshape(randn(0, 3), [3, 0])",
    .bad = "reshape(zeros(2, 3), [4]) => reshape: the sizes do not fit: 6 elements do not make [4]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::reshape_op
