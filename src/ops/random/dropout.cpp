#include "ops/random/generator.h"
#include "ops/random/masks.h"

namespace dyadic::inline v1::ops::dropout_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::self];
  double p = a[arg::p];
  DY_CHECK_AS(ValueError, p >= 0 && p <= 1, "dropout: p is not a probability: p is {}", p);
  if (!a[arg::training] || p == 0) return x;
  if (p == 1) return zeroed(x);
  check_float("dropout", x, "self");
  Tensor keep = ge(rand(x.sizes(), f32, x.device()), scalar_tensor(p));
  return mul(mul(x, keep.to(x.dtype().is_scaled() ? f32 : x.dtype())), scalar_tensor(1 / (1 - p)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "dropout(Tensor self, float p=0.5, bool training=True) -> Tensor",
    .doc = "In training each element is zeroed with probability p and the others scaled by 1 / (1 - p).",
    .kind = OpKind::composite,
    .samples = "dropout(randn(3, 4), 0.5, False)",
    .compose = compose,
    .random = true,
};

}  // namespace dyadic::inline v1::ops::dropout_op
