#include "ops/common.h"

namespace dyadic::inline v1::ops::clone_op {
namespace {

void infer(Call& c) {
  infer_like_first(c);
  c.spec[0].dtype = c.tensor(0).dtype();
}
void forward(Call& c) { assign(c.out[0], c.tensor(0)); }
void backward(Grad& g) { g.set(0, g.g()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "clone(Tensor self) -> Tensor",
    .doc = "A dense copy. Scaled tensors keep their codes; a permuted one is decoded and encoded again in its new order.",
    .samples = "clone(randn(2, 3))\nclone(randn(2, 3, 64))",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .accepts_blocked = true,
};

}  // namespace dyadic::inline v1::ops::clone_op
