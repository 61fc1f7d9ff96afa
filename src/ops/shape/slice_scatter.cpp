#include "ops/common.h"

namespace dyadic::inline v1::ops::slice_scatter_op {
namespace {

Tensor part_of(const Tensor& t, const Arg* a) {
  auto bound = [](const Arg& x) { return x.kind == Arg::Kind::none ? std::nullopt : std::optional(x.integer); };
  return slice(t, a[2].integer, bound(a[3]), bound(a[4]), a[5].integer);
}
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
    g.set(0, call(Op::slice_scatter_, g.g(), zeros(g.in_meta(1).shape(), g.g().dtype(), g.in_meta(1).device), g.node.args[2],
                  g.node.args[3], g.node.args[4], g.node.args[5]));
  if (g.needs(1)) g.set(1, part_of(g.g(), g.node.args));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
    .doc = "self with src in the place of slice(self, dim, start, end, step).",
    .samples =
        "slice_scatter(randn(5, 2), randn(2, 2), 0, 1, 4, 2)\n"
        "slice_scatter(randn(2, 3), randn(2, 2), -1, 1)",
    .bad = "slice_scatter(zeros(3), zeros(2), 0, 0, 1) => slice_scatter: the sizes do not fit: src is f32[2], the part [1]",
    .infer = infer,
    .forward = forward,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::slice_scatter_op
