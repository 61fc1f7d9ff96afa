#include "ops/common.h"

namespace dyadic::inline v1::ops::diagonal_scatter_op {
namespace {

Tensor part_of(const Tensor& t, const Arg* a) { return diagonal(t, a[2].integer, a[3].integer, a[4].integer); }
void infer(Call& c) {
  infer_like_first(c);
  const Tensor part = part_of(c.tensor(0).detach(), c.args);
  DY_CHECK(part.sizes() == c.tensor(1).sizes(), "{}: the sizes do not fit: src is {}, the part {}", c.name,
           describe(c.tensor(1)), shape_text(part.sizes()));
}
void forward(Call& c) {
  NoGrad guard;
  if (!c.out[0].is_same(c.tensor(0))) assign(c.out[0], c.tensor(0));
  assign(part_of(c.out[0], c.args), c.tensor(1));
}
void backward(Grad& g) {
  if (g.needs(0))
    g.set(0, diagonal_scatter(g.g(), zeros(g.in_meta(1).shape(), g.g().dtype(), g.in_meta(1).device), g.integer(2),
                              g.integer(3), g.integer(4)));
  if (g.needs(1)) g.set(1, part_of(g.g(), g.node.args));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    .doc = "self with src in the place of diagonal(self, offset, dim1, dim2).",
    .samples =
        "diagonal_scatter(randn(3, 4), randn(3))\n"
        "diagonal_scatter(randn(2, 3, 4), randn(3, 2), -1, 2, 0)",
    .bad = "diagonal_scatter(zeros(3, 3), zeros(2)) => diagonal_scatter: the sizes do not fit: src is f32[2], the part [3]",
    .infer = infer,
    .forward = forward,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::diagonal_scatter_op
