#include "ops/common.h"
#include "ops/index/indexed.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::scatter_add_op {
namespace {

void infer(Call& c) {
  const Tensor &self = c[arg::self], &index = c[arg::index];
  const int64_t dim = wrap_dim(c.name, c[arg::dim], self.dim());
  check_index_shape(c, index, self, "self", dim);
  check_same_type(c, self, c[arg::src], "src");
  check_index_shape(c, index, c[arg::src], "src", -1);
  infer_like_first(c);
}
double flops(const Call& c) { return double(c[arg::index].numel()); }

struct Rows {
  CombineRows rows;
  Positions positions;
  const Format *self, *src, *out;
};
void run_rows(const Rows& p, const Pointers& at) {
  const void* index = at.in[arg::index.tensor];
  p.positions.check(index);
  CombineRows rows = p.rows;
  rows.index = static_cast<const int64_t*>(index);
  combine_kernel().rows(rows, IndexedOp::add, source(at, 0, p.self), source(at, arg::src.tensor, p.src), target(at, 0, p.out),
                        nullptr, at.workspace);
}
void plan(Call& c) {
  const int64_t dim = wrap_dim(c.name, c[arg::dim], c[arg::self].dim());
  const Positions positions = positions_along(c, c[arg::index], dim, true);
  CombineRows rows;
  if (combines_rows(c, dim, rows)) {
    c.plan.workspace = combine_kernel().workspace(rows, {nullptr, format_of(c, arg::self)});
    return c.plan.set<run_rows>(Rows{rows, positions, format_of(c, arg::self), format_of(c, arg::src), result_format(c)});
  }
  const auto loop = [&](const Operand& sum, const Operand& src) { return loop_along(sum, src, c.operand(arg::index), dim); };
  c.plan.set<run_indexed_combination>(IndexedCombination{plan_combination(c, IndexedOp::add, c.operand(arg::src), loop),
                                                         positions, arg::index.tensor, arg::src.tensor});
}
Tensor complex_parts(Args a) { return by_parts(Op::scatter_add_, a, 4); }
void backward(Grad& g) {
  g.set(arg::self, g.g());
  if (g.needs(arg::src)) g.set(arg::src, pad_to(gather(g.g(), g[arg::dim], g.in(arg::index)), g.in_meta(arg::src)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    .doc =
        "self with the elements of src added along dim where index (int64) says, in the order of the index, whatever the "
        "number of threads.",
    .inplace = true,
    .samples =
        "scatter_add(randn(3, 4), 1, indices(4; 3, 5), randn(3, 5))\n"
        "scatter_add(randn(3, 4), 0, indices(3; 1, 4), randn(1, 4))\n"
        "scatter_add(randn(2, 3, 2), -1, indices(2; 2, 3, 1), randn(2, 3, 1))\n"
        "scatter_add(randn(), 0, indices(1; ), randn())",
    .bad =
        "scatter_add(zeros(2), 0, indices(5; 2), zeros(2)) => scatter_add: index out of range: index 4 at position 0; "
        "dimension 0 has 2 entries",
    .infer = infer,
    .backward = backward,
    .needs = {0, 0, in(arg::index)},
    .flops = flops,
    .complex = complex_parts,
    .index = arg::index.at,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::scatter_add_op
