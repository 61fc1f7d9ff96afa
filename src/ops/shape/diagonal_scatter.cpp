#include "ops/shape/parts.h"

namespace dyadic::inline v1::ops::diagonal_scatter_op {
namespace {

Tensor part_of(const Tensor& t, Args a) { return diagonal(t, a[arg::offset], a[arg::dim1], a[arg::dim2]); }
void infer(Call& c) {
  infer_like_first(c);
  const Tensor part = part_of(c[arg::self].detach(), c.args);
  DY_CHECK(part.sizes() == c[arg::src].sizes(), "{}: the sizes do not fit: src is {}, the part {}", c.name,
           describe(c[arg::src]), shape_text(part.sizes()));
}
void plan(Call& c) {
  plan_part_written(c, [&](const Tensor& t) { return part_of(t, c.args); });
}
void backward(Grad& g) {
  if (g.needs(arg::self))
    g.set(arg::self, diagonal_scatter(g.g(), zeros(g.in_meta(arg::src).shape(), g.g().dtype(), g.in_meta(arg::src).device),
                                      g[arg::offset], g[arg::dim1], g[arg::dim2]));
  if (g.needs(arg::src)) g.set(arg::src, part_of(g.g(), g.node.args));
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
    .backward = backward,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::diagonal_scatter_op
