#include "loops/pointwise.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops::slice_backward_op {
namespace {

void infer(Call& c) {
  c.spec[0].dtype = c.tensor(0).dtype();
  c.spec[0].device = c.tensor(0).device();
  c.spec[0].shape(c.ints(1));
}
void forward(Call& c) {
  NoGrad guard;
  auto bound = [&](int i) { return c.has(i) ? std::optional(c.integer(i)) : std::nullopt; };
  Tensor part = slice(c.out[0], c.integer(2), bound(3), bound(4), c.integer(5));
  DY_CHECK(part.sizes() == c.tensor(0).sizes(), "slice_backward: sizes do not fit: self is {}, the slice {}",
           describe(c.tensor(0)), describe(part));
  fill(c.out[0], 0);
  copy_elements(part, c.tensor(0));
}
void backward(Grad& g) {
  auto bound = [&](int i) { return g.has(i) ? std::optional(g.integer(i)) : std::nullopt; };
  g.set(0, slice(g.g(), g.integer(2), bound(3), bound(4), g.integer(5)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "slice_backward(Tensor self, int[] size, int dim, int? start, int? end, int step) -> Tensor",
    .doc = "Zeros of the given size with self written where slice would read: the gradient of slice.",
    .internal = true,
    .samples = "slice_backward(randn(2, 2), [2, 5], 1, 1, 4, 2)",
    .infer = infer,
    .forward = forward,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::slice_backward_op
