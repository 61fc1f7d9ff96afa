#include "ops/shape/parts.h"

namespace dyadic::inline v1::ops::strided_scatter_op {
namespace {

Tensor region(const Tensor& t, Args a) {
  return call(Op::strided_view_, t, ints_of(a.arg(arg::size)), ints_of(a.arg(arg::stride)), a[arg::offset] + t.storage_offset(),
              t.strides(), t.storage_offset());
}
void infer(Call& c) {
  infer_like_first(c);
  c.spec[0].dtype = c[arg::self].dtype();
  DY_CHECK(c[arg::src].sizes() == c[arg::size], "{}: the sizes do not fit: src is {}, size is {}", c.name,
           describe(c[arg::src]), shape_text(c[arg::size]));
}
void plan(Call& c) {
  plan_part_written(c, [&](const Tensor& t) { return region(t, c.args); });
}
void backward(Grad& g) {
  Args a = g.node.args;
  if (g.needs(arg::self))
    g.set(arg::self,
          call(Op::strided_scatter_, g.g(), zeros(g.in_meta(arg::src).shape(), g.g().dtype(), g.in_meta(arg::src).device),
               g[arg::size], g[arg::stride], g[arg::offset]));
  if (g.needs(arg::src)) g.set(arg::src, region(contiguous(g.g()), a));
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
    .backward = backward,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::strided_scatter_op
