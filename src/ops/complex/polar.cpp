#include "ops/common.h"

namespace dyadic::inline v1::ops::polar_op {
namespace {

Tensor compose(Args a) {
  const Tensor &size = a[arg::abs], &angle = a[arg::angle];
  return complex(mul(size, cos(angle)), mul(size, sin(angle)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "polar(Tensor abs, Tensor angle) -> Tensor",
    .doc = "abs (cos angle + i sin angle).",
    .kind = OpKind::composite,
    .samples = "polar(randn(2, 3; wide), randn(3; wide))",
    .skip = "torch_gradients: of a negative abs PyTorch's has the other sign",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::polar_op
