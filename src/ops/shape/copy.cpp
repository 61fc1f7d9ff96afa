#include "corridor/batching.h"
#include "ops/shape/assigning.h"

namespace dyadic::inline v1::ops::copy_op {
namespace {

void infer(Call& c) {
  const Tensor &self = c[arg::self], &src = c[arg::src];
  bool fits = src.dim() <= self.dim();
  for (int64_t d = 1; fits && d <= src.dim(); ++d) fits = src.size(-d) == 1 || src.size(-d) == self.size(-d);
  DY_CHECK(fits, "copy: the sizes do not fit: self is {}, src is {}", describe(self), describe(src));
  infer_like_first(c);
  c.spec[0].dtype = c[arg::self].dtype();
}
void plan(Call& c) { plan_assigning(c, arg::src); }
void backward(Grad& g) { g.set(arg::src, g.g()); }  // self was overwritten: nothing flows to it

bool batched(BatchedCall& b) {
  b.results[0] = dyadic::copy(b.whole(arg::self), b.aligned(arg::src, b.c[arg::self].dim()));
  return true;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "copy(Tensor self, Tensor src) -> Tensor",
    .doc = "A tensor like self with the values of src, broadcast and converted; copy_ writes them into self.",
    .inplace = true,
    .samples = "copy(zeros(2, 3), randn(3))",
    .infer = infer,
    .backward = backward,
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = in(arg::self) | in(arg::src) | out(0)};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::copy_op
