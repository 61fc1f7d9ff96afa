#include "ops/common.h"

namespace dyadic::inline v1::ops::take_op {
namespace {

Tensor compose(Args a) {
  const Tensor& index = a[arg::index];
  DY_CHECK_AS(TypeError, index.dtype() == i64, "take: the index is int64: index is {}; convert with .to(i64)", describe(index));
  return call(Op::index_, reshape(a[arg::self], {-1}), std::span<const Tensor>(&index, 1), Arg());
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "take(Tensor self, Tensor index) -> Tensor",
    .doc = "The elements of the flattened tensor at index (int64, any shape; negative ones count from the end).",
    .kind = OpKind::composite,
    .samples =
        "take(randn(3, 4), indices(12; 2, 3))\n"
        "take(randn(3), indices(3; 0))\n"
        "take(randn(2), indices(2; ))",
    .bad =
        "take(zeros(2), indices(5; 2)) => take: index: index out of range: index 4 at position 0; dimension 0 has 2 entries\n"
        "take(zeros(2), zeros(2)) => take: the index is int64: index is f32[2]; convert with .to(i64)",
    .compose = compose,
    .index = arg::index.at,
};

}  // namespace dyadic::inline v1::ops::take_op
