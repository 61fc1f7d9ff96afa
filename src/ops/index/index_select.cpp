#include "corridor/batching.h"
#include "ops/common.h"
#include "ops/index/batched.h"
#include "ops/index/indexed.h"
#include "ops/index/stored_rows.h"

namespace dyadic::inline v1::ops::index_select_op {
namespace {

int64_t dim_of(const Call& c) { return wrap_dim(c.name, c[arg::dim], c[arg::self].dim()); }
void infer(Call& c) {
  const Tensor& index = c[arg::index];
  dim_of(c);
  check_index_type(c, index);
  DY_CHECK_AS(IndexError, index.dim() <= 1, "{}: the index has one dimension: index is {}", c.name, describe(index));
  infer_like_first(c);
  if (c.spec[0].ndim) c.spec[0].sizes[dim_of(c)] = index.numel();
  DY_CHECK(c.spec[0].ndim || index.numel() == 1, "index_select: of a 0-d tensor one entry can be selected: index is {}",
           describe(index));
}
struct Parameters {
  IndexedLoop loop;
  Positions positions;
  Operand index;
  int64_t width;
};
void run(const Parameters& p, const Pointers& at) {
  const void* index = at.in[arg::index.tensor];
  if (!p.index.is_contiguous()) {
    assign(Array(p.index.sizes(), i64, at.workspace), at.input(arg::index, p.index));
    index = at.workspace;
  }
  p.positions.check(index);
  indexed_kernel().read(at_positions(p.loop, index), at.in[0], at.out[0], p.width, kAnyPosition);
}
// Of a stored tensor.
struct Rows {
  StoredRows rows;
  Positions positions;
  Operand index;
  int64_t step;
};
void run_stored(const Rows& p, const Pointers& at) {
  auto* offsets = static_cast<int64_t*>(at.workspace);
  assign(Array(p.index.sizes(), i64, offsets), at.input(arg::index, p.index));
  p.positions.check(offsets);
  for (int64_t i = 0; i < p.index.numel(); ++i) offsets[i] *= p.step;
  p.rows.run(at.in[0], offsets, at.out[0]);
}
void plan_stored(Call& c) {
  const Operand self = c.operand(arg::self), index = c.operand(arg::index);
  const int64_t dim = dim_of(c);
  const Rows p{{self, c.result(), self.ndim ? 1u << dim : 0, dim, index.numel()},
               positions_along(c, c[arg::index], dim),
               index,
               self.ndim ? self.stride(dim) : 0};
  c.plan.workspace = p.rows.workspace();
  c.plan.set<run_stored>(p);
}

void plan(Call& c) {
  if (c[arg::self].dtype().is_blocked()) return plan_stored(c);
  const Operand self = c.operand(arg::self), index = c.operand(arg::index);
  c.plan.workspace = index.is_contiguous() ? 0 : index.numel() * 8;
  c.plan.set<run>(Parameters{loop_along_1d(self, c.result(), index.numel(), dim_of(c)),
                             positions_along(c, c[arg::index], dim_of(c)), index, self.itemsize()});
}
void backward(Grad& g) {
  g.set(arg::self, index_add(zeros(g.in_meta(arg::self).shape(), g.g().dtype(), g.in_meta(arg::self).device), g[arg::dim],
                             g.in(arg::index), g.g()));
}

bool batched(BatchedCall& b) { return batched_select(b); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "index_select(Tensor self, int dim, Tensor index) -> Tensor",
    .doc =
        "The entries of a dimension that index (int64, one dimension) names. Of a stored tensor (nf4, q4_K ...) those alone "
        "are decoded.",
    .samples =
        "index_select(randn(3, 4), 0, indices(3; 5))\n"
        "index_select(randn(3, 4), -1, indices(4; 2))\n"
        "index_select(randn(2, 3, 4), 1, indices(3; 4))\n"
        "index_select(randn(), 0, indices(1; 1))\n"
        "index_select(randn(3), 0, indices(3; 0))",
    .bad =
        "index_select(zeros(2, 3), 0, indices(5; 2)) => index_select: index out of range: index 4 at position 0; dimension 0 "
        "has 2 entries\n"
        "index_select(zeros(2, 3), 0, indices(2; 2, 2)) => index_select: the index has one dimension: index is i64[2, 2]",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::index)},
    .index = arg::index.at,
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = in(arg::self)};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::index_select_op
