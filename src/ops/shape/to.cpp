#include "ops/common.h"

namespace dyadic::inline v1::ops::to_op {
namespace {

void infer(Call& c) {
  infer_like_first(c);
  if (c.tensor(0).dtype() != c.dtype(1)) check_encodes(*c.dtype(1).format());
  c.spec[0].dtype = c.dtype(1);
}
void forward(Call& c) { assign(c.out[0], c.tensor(0)); }
void backward(Grad& g) { g.set(0, g.g()); }  // the engine casts to the input's dtype

}  // namespace

extern constexpr OpDef record = {
    .sig = "to(Tensor self, ScalarType dtype) -> Tensor",
    .doc =
        "The values in another dtype, rounded once (nearest, ties to even). Float to integer truncates; integers wrap; scaled "
        "formats encode whole tensors.",
    .samples = "to(randn(3, 4), bf16)\nto(randn(3, 4), f64)",
    .skip = "cost: a conversion counts as bytes",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .accepts_blocked = true,
};

}  // namespace dyadic::inline v1::ops::to_op
