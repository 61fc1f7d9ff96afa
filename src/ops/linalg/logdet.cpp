#include "ops/common.h"

namespace dyadic::inline v1::ops::logdet_op {
namespace {

Tensor compose(Args a) {
  const std::vector<Tensor> r = call_all(Op::linalg_slogdet_, a[arg::self]);
  return add(log(r[0]), where(eq(r[0], 0), zeros_like(r[1].detach()), r[1]));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "logdet(Tensor self) -> Tensor",
    .doc = "The logarithms of determinants: NaN where one is negative, -inf where it is 0.",
    .kind = OpKind::composite,
    .samples =
        "logdet(spd(3, 3))\n"
        "logdet(spd(2, 3, 3))",
    .skip =
        "threads: those of linalg_slogdet, which is tested\n"
        "layout_bits: products of the gradient add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::logdet_op
