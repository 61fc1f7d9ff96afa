#include "corridor/batching.h"
#include "ops/shape/assigning.h"

namespace dyadic::inline v1::ops::clone_op {
namespace {

void infer(Call& c) {
  infer_like_first(c);
  c.spec[0].dtype = c[arg::self].dtype();
}
void plan(Call& c) { plan_assigning(c, arg::self); }
void backward(Grad& g) { g.set(arg::self, g.g()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "clone(Tensor self) -> Tensor",
    .doc = "A dense copy. Scaled tensors keep their codes; a permuted one is decoded and encoded again in its new order.",
    .samples = "clone(randn(2, 3))\nclone(randn(2, 3, 64))",
    .infer = infer,
    .backward = backward,
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = in(arg::self) | out(0)};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::clone_op
