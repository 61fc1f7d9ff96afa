#include "ops/common.h"

namespace dyadic::inline v1::ops::select_scatter_op {
namespace {

Tensor part_of(const Tensor& t, const Arg* a) { return select(t, a[2].integer, a[3].integer); }
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
    g.set(0,
          select_scatter(g.g(), zeros(g.in_meta(1).shape(), g.g().dtype(), g.in_meta(1).device), g.integer(2), g.integer(3)));
  if (g.needs(1)) g.set(1, part_of(g.g(), g.node.args));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor",
    .doc = "self with src in the place of select(self, dim, index).",
    .samples =
        "select_scatter(randn(3, 4), randn(3), 1, -1)\n"
        "select_scatter(randn(2), randn(), 0, 1)",
    .bad = "select_scatter(zeros(3, 3), zeros(2), 0, 0) => select_scatter: the sizes do not fit: src is f32[2], the part [3]",
    .infer = infer,
    .forward = forward,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::select_scatter_op
