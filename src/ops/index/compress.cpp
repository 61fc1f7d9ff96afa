#include "ops/common.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::compress_op {
namespace {

void infer(Call& c) {
  DY_CHECK(c.tensor(0).sizes() == c.tensor(1).sizes(), "compress: the shapes differ: self is {}, mask is {}",
           describe(c.tensor(0)), describe(c.tensor(1)));
  infer_like_first(c);
  c.spec[0].shape({c.integer(2)});
}
void forward(Call& c) {
  const Tensor &self = c.tensor(0), &mask = c.tensor(1);
  DY_CHECK(count_true(mask) == c.integer(2), "compress: the mask has {} true entries, not {}", count_true(mask), c.integer(2));
  move_masked(mask, self.dtype().itemsize(), c.out[0].impl()->data(), self.impl()->data(), true);
}
void backward(Grad& g) {
  g.set(0, call(Op::masked_scatter_, zeros(g.in_meta(0).shape(), g.g().dtype(), g.in_meta(0).device), g.in(1), g.g()));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "compress(Tensor self, Tensor mask, int size) -> Tensor",
    .doc = "The `size` elements where mask, of self's shape, is true: masked_select once the size is known.",
    .internal = true,
    .samples = "compress(randn(0), mask(0), 0)",
    .bad = "compress(zeros(2), mask(3), 1) => compress: the shapes differ: self is f32[2], mask is bool[3]",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(1)},
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::compress_op
