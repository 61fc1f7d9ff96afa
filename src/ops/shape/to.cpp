#include "corridor/batching.h"
#include "ops/shape/assigning.h"

namespace dyadic::inline v1::ops::to_op {
namespace {

void infer(Call& c) {
  infer_like_first(c);
  if (c[arg::self].dtype() != c[arg::dtype]) check_encodes(*c[arg::dtype].format());
  c.spec[0].dtype = c[arg::dtype];
}
void plan(Call& c) { plan_assigning(c, arg::self); }
void backward(Grad& g) { g.set(arg::self, g.g()); }  // the engine casts to the input's dtype

}  // namespace

extern constexpr OpDef record = {
    .sig = "to(Tensor self, ScalarType dtype) -> Tensor",
    .doc =
        "The values in another dtype, rounded once (nearest, ties to even). Float to integer truncates; integers wrap; scaled "
        "formats encode whole tensors.",
    .samples = "to(randn(3, 4), bf16)\nto(randn(3, 4), f64)",
    .skip = "cost: a conversion counts as bytes",
    .infer = infer,
    .backward = backward,
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = in(arg::self) | out(0)};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::to_op
