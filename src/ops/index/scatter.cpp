#include "ops/common.h"
#include "ops/index/indexed.h"
#include "ops/variants.h"

namespace dyadic::inline v1::ops::scatter_op {
namespace {

void infer(Call& c) {
  const Tensor &self = c[arg::self], &index = c[arg::index];
  const int64_t dim = wrap_dim(c.name, c[arg::dim], self.dim());
  check_index_shape(c, index, self, "self", dim);
  check_same_type(c, self, c[arg::src], "src");
  check_index_shape(c, index, c[arg::src], "src", -1);
  infer_like_first(c);
}
void plan(Call& c) {
  const int64_t dim = wrap_dim(c.name, c[arg::dim], c[arg::self].dim());
  const Operand out = c.result();
  c.plan.set<run_indexed_write>(IndexedWrite{loop_along(out, c.operand(arg::src), c.operand(arg::index), dim),
                                             positions_along(c, c[arg::index], dim, true), out, c.operand(arg::self),
                                             arg::index.tensor, arg::src.tensor});
}
void backward(Grad& g) {
  if (g.needs(arg::self)) g.set(arg::self, scatter_value(g.g(), g[arg::dim], g.in(arg::index), 0));
  if (g.needs(arg::src)) g.set(arg::src, pad_to(gather(g.g(), g[arg::dim], g.in(arg::index)), g.in_meta(arg::src)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "scatter(Tensor self, int dim, Tensor index, Tensor src, *, str? reduce=None) -> Tensor",
    .doc =
        "self with the elements of src written along dim where index (int64) says: out[index[i][j]][j] = src[i][j] for dim 0. "
        "Of several for one place the last one counts; with reduce \"add\" or \"multiply\" all of them and self "
        "(scatter_reduce).",
    .inplace = true,
    .samples =
        "scatter(randn(3, 4), 1, indices(4; 3, 2), randn(3, 2))\n"
        "scatter(randn(3, 4), 0, indices(3; 1, 4), randn(1, 4))\n"
        "scatter(randn(2, 3, 2), -1, indices(2; 2, 3, 1), randn(2, 3, 1))\n"
        "scatter(randn(), 0, indices(1; ), randn())",
    .bad =
        "scatter(zeros(2), 0, indices(5; 2), zeros(2)) => scatter: index out of range: index 4 at position 0; dimension 0 has "
        "2 entries\n"
        "scatter(zeros(2), 0, indices(2; 3), zeros(2)) => scatter: the index does not fit: index is i64[3], src is f32[2]; "
        "sizes but that of dimension -1 are no larger",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::index), 0, in(arg::index)},
    .variant = scatter_variant,
    .index = arg::index.at,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::scatter_op
