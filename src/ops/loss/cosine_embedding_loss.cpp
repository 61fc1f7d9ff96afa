#include "ops/composite.h"

namespace dyadic::inline v1::ops::cosine_embedding_loss_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::input1], &y = a[arg::input2], &t = a[arg::target], none = scalar_tensor(0.0);
  DY_CHECK(x.dim() == t.dim() + 1 && y.dim() == x.dim(),
           "cosine_embedding_loss: sizes do not fit: input1 is {}, input2 is {}, target is {}", describe(x), describe(y),
           describe(t));
  const int64_t last[] = {-1};
  auto length = [&](const Tensor& v) { return add(sum(square(v), last), 1e-12); };
  Tensor cosine = div(sum(mul(x, y), last), sqrt(mul(length(x), length(y))));
  Tensor near = where(eq(t, 1.0), sub(1.0, cosine), none);
  Tensor far = where(eq(t, -1.0), at_least_zero(sub(cosine, a[arg::margin])), none);
  return reduced("cosine_embedding_loss", add(near, far), a[arg::reduction]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, str reduction='mean') -> Tensor",
    .doc =
        "With the cosine of input1 and input2 [N, D] or [D]: 1 - cos where target is 1, max(0, cos - margin) where it is -1.",
    .kind = OpKind::composite,
    .samples =
        "cosine_embedding_loss(randn(2, 3), randn(2, 3), ones(2))\n"
        "cosine_embedding_loss(randn(2, 3), randn(2, 3), ones(2), 0.5, 'none')",
    .bad =
        "cosine_embedding_loss(zeros(2), zeros(2), ones(2)) => cosine_embedding_loss: sizes do not fit: input1 is f32[2], "
        "input2 is f32[2], target is f32[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::cosine_embedding_loss_op
