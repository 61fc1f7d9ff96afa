#include "ops/common.h"

namespace dyadic::inline v1::ops::contiguous_op {
namespace {
Tensor compose(const Arg* a) { return a[0].tensor->is_contiguous() ? *a[0].tensor : clone(*a[0].tensor); }
}  // namespace

extern constexpr OpDef record = {
    .sig = "contiguous(Tensor self) -> Tensor",
    .doc = "self if its elements are dense in row-major order, else a copy that is.",
    .kind = OpKind::composite,
    .samples = "contiguous(randn(2, 3))",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::contiguous_op
