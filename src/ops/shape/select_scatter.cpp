#include "ops/shape/parts.h"

namespace dyadic::inline v1::ops::select_scatter_op {
namespace {

Tensor part_of(const Tensor& t, Args a) { return select(t, a[arg::dim], a[arg::index]); }
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
    g.set(arg::self, select_scatter(g.g(), zeros(g.in_meta(arg::src).shape(), g.g().dtype(), g.in_meta(arg::src).device),
                                    g[arg::dim], g[arg::index]));
  if (g.needs(arg::src)) g.set(arg::src, part_of(g.g(), g.node.args));
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
    .backward = backward,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::select_scatter_op
