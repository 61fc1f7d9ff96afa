#include "ops/shape/parts.h"

namespace dyadic::inline v1::ops::slice_scatter_op {
namespace {

Tensor part_of(const Tensor& t, Args a) {
  auto bound = [](const Arg& x) { return x.kind == Arg::Kind::none ? std::nullopt : std::optional(x.integer); };
  return slice(t, a[arg::dim], bound(a.arg(arg::start)), bound(a.arg(arg::end)), a[arg::step]);
}
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
    g.set(arg::self,
          call(Op::slice_scatter_, g.g(), zeros(g.in_meta(arg::src).shape(), g.g().dtype(), g.in_meta(arg::src).device),
               g.arg(arg::dim), g.arg(arg::start), g.arg(arg::end), g.arg(arg::step)));
  if (g.needs(arg::src)) g.set(arg::src, part_of(g.g(), g.node.args));
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
    .backward = backward,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::slice_scatter_op
