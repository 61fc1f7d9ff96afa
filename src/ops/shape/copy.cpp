#include "ops/common.h"

namespace dyadic::inline v1::ops::copy_op {
namespace {

void infer(Call& c) {
  const Tensor &self = c.tensor(0), &src = c.tensor(1);
  bool fits = src.dim() <= self.dim();
  for (int64_t d = 1; fits && d <= src.dim(); ++d) fits = src.size(-d) == 1 || src.size(-d) == self.size(-d);
  DY_CHECK(fits, "copy: the sizes do not fit: self is {}, src is {}", describe(self), describe(src));
  infer_like_first(c);
  c.spec[0].dtype = c.tensor(0).dtype();
}
void forward(Call& c) { assign(c.out[0], c.tensor(1)); }
void backward(Grad& g) { g.set(1, g.g()); }  // self was overwritten: nothing flows to it

}  // namespace

extern constexpr OpDef record = {
    .sig = "copy(Tensor self, Tensor src) -> Tensor",
    .doc = "A tensor like self with the values of src, broadcast and converted; copy_ writes them into self.",
    .inplace = true,
    .samples = "copy(zeros(2, 3), randn(3))",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .accepts_blocked = true,
};

}  // namespace dyadic::inline v1::ops::copy_op
