#include "ops/common.h"

namespace dyadic::inline v1::ops::contiguous_op {
namespace {
Tensor compose(Args a) { return a[arg::self].is_contiguous() ? a[arg::self] : clone(a[arg::self]); }
}  // namespace

extern constexpr OpDef record = {
    .sig = "contiguous(Tensor self) -> Tensor",
    .doc = "self if its elements are dense in row-major order, else a copy that is.",
    .kind = OpKind::composite,
    .samples = "contiguous(randn(2, 3))",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::contiguous_op
