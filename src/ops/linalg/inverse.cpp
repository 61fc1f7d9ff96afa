#include "ops/common.h"

namespace dyadic::inline v1::ops::inverse_op {
namespace {

Tensor compose(Args a) { return call(Op::linalg_inv_, a[arg::self]); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "inverse(Tensor self) -> Tensor",
    .doc = "The inverses of square matrices: linalg.inv.",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .samples = "inverse(spd(3, 3))",
    .skip =
        "threads: those of linalg_inv_ex, which is tested\n"
        "layout_bits: products of the gradient add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::inverse_op
