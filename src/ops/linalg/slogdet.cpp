#include "ops/common.h"

namespace dyadic::inline v1::ops::slogdet_op {
namespace {

std::vector<Tensor> compose(Args a) { return call_all(Op::linalg_slogdet_, a[arg::self]); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
    .doc = "Signs and logarithms of determinants: linalg.slogdet.",
    .kind = OpKind::composite,
    .samples = "slogdet(randn(3, 3))",
    .skip = "layout_bits: products of the gradient add in an order that strides decide",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::slogdet_op
