#include "ops/common.h"

namespace dyadic::inline v1::ops::strided_scatter_op {
namespace {

Tensor region(const Tensor& t, const Arg* a) {
  return call(Op::strided_view_, t, ints_of(a[2]), ints_of(a[3]), a[4].integer + t.storage_offset(), t.strides(),
              t.storage_offset());
}
void infer(Call& c) {
  infer_like_first(c);
  c.spec[0].dtype = c.tensor(0).dtype();
  DY_CHECK(c.tensor(1).sizes() == c.ints(2), "{}: the sizes do not fit: src is {}, size is {}", c.name, describe(c.tensor(1)),
           shape_text(c.ints(2)));
}
void forward(Call& c) {
  NoGrad guard;
  assign(c.out[0], c.tensor(0));
  assign(region(c.out[0], c.args), c.tensor(1));
}
void backward(Grad& g) {
  const Arg* a = g.node.args;
  if (g.needs(0))
    g.set(0, call(Op::strided_scatter_, g.g(), zeros(g.in_meta(1).shape(), g.g().dtype(), g.in_meta(1).device), g.ints(2),
                  g.ints(3), g.integer(4)));
  if (g.needs(1)) g.set(1, region(contiguous(g.g()), a));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int offset) -> Tensor",
    .doc =
        "self, dense, with src in the place of a region of it: sizes, strides and the first element's place count elements of "
        "self in row-major order. What a tensor is after a view of it was written to.",
    .internal = true,
    .samples = "strided_scatter(randn(3, 4), randn(2, 2), [2, 2], [4, 2], 5)",
    .bad =
        "strided_scatter(zeros(3), zeros(2), [1], [1], 0) => strided_scatter: the sizes do not fit: src is f32[2], size is [1]",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::strided_scatter_op
