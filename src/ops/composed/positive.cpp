#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* a) { return *a[0].tensor; }

}  // namespace

extern constexpr OpDef positive_op = {
    .sig = "positive(Tensor self) -> Tensor",
    .doc = "self.",
    .kind = OpKind::composite,
    .samples = "positive(randn(3, 5))",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops
