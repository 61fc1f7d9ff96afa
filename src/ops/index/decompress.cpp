#include "ops/common.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::decompress_op {
namespace {

void infer(Call& c) {
  DY_CHECK(c.tensor(0).sizes() == c.tensor(1).sizes(), "decompress: the shapes differ: self is {}, mask is {}",
           describe(c.tensor(0)), describe(c.tensor(1)));
  infer_like_first(c);
}
void forward(Call& c) {
  const Tensor &mask = c.tensor(1), &source = c.tensor(2), &out = c.out[0];
  const int64_t count = count_true(mask);
  DY_CHECK(count <= source.numel(),
           "masked_scatter: the source has fewer elements than the mask true ones: source is {}, the mask has {}",
           describe(source), count);
  assign(out, c.tensor(0));
  move_masked(mask, out.dtype().itemsize(), out.impl()->data(), source.impl()->data(), false);
}
void backward(Grad& g) {
  const Tensor mask = g.in(1);
  if (g.needs(0)) g.set(0, masked_fill(g.g(), mask, 0));
  if (!g.needs(2)) return;
  const Meta& m = g.in_meta(2);
  int64_t n = 1;
  for (int64_t s : m.shape()) n *= s;
  const Tensor taken = masked_select(g.g(), mask);
  g.set(2, reshape(constant_pad_nd(taken, {0, n - taken.numel()}), m.shape()));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "decompress(Tensor self, Tensor mask, Tensor source) -> Tensor",
    .doc = "masked_scatter for a mask of self's shape.",
    .internal = true,
    .samples = "decompress(randn(2, 3), mask(2, 3), randn(7))",
    .bad = "decompress(zeros(2), mask(3), zeros(3)) => decompress: the shapes differ: self is f32[2], mask is bool[3]",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(1), 0, in(1)},
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::decompress_op
