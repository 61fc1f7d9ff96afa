#include "ops/common.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::gather_op {
namespace {

void infer(Call& c) {
  const Tensor& index = c[arg::index];
  const int64_t dim = wrap_dim("gather", c[arg::dim], c[arg::self].dim());
  check_index_shape(c, index, c[arg::self], "self", dim);
  infer_like_first(c);
  c.spec[0].shape(index.sizes());
}
struct Parameters {
  IndexedLoop loop;
  Positions positions;
  int64_t width;
};
void run(const Parameters& p, const Pointers& at) {
  const void* index = at.in[arg::index.tensor];
  if (!indexed_kernel().read(at_positions(p.loop, index), at.in[0], at.out[0], p.width, p.positions.size))
    p.positions.check(index);  // says which
}
void plan(Call& c) {
  const int64_t dim = wrap_dim("gather", c[arg::dim], c[arg::self].dim());
  const Operand self = c.operand(arg::self);
  c.plan.set<run>(Parameters{loop_along(self, c.result(), c.operand(arg::index), dim),
                             positions_along(c, c[arg::index], dim, true), self.itemsize()});
}
void backward(Grad& g) {
  const Tensor sum = zeros(g.in_meta(arg::self).shape(), g.g().dtype(), g.in_meta(arg::self).device);
  g.set(arg::self, call_inplace(Op::scatter_add_, sum, g[arg::dim], g.in(arg::index), g.g()));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    .doc =
        "The elements of self along dim that index (int64) names: out[i][j] = self[index[i][j]][j] for dim 0. index may be "
        "smaller than self in the other dimensions.",
    .samples =
        "gather(randn(3, 4), 1, indices(4; 3, 2))\n"
        "gather(randn(3, 4), 0, indices(3; 2, 4))\n"
        "gather(randn(2, 3, 4), -2, indices(3; 2, 5, 3))\n"
        "gather(randn(), 0, indices(1; ))\n"
        "gather(randn(3), 0, indices(3; 0))",
    .bad =
        "gather(zeros(2, 3), 0, indices(5; 1, 3)) => gather: index out of range: index 4 at position 0; dimension 0 has 2 "
        "entries\n"
        "gather(zeros(2, 3), 0, indices(2; 4)) => gather: the index does not fit: index is i64[4], self is f32[2, 3]; sizes "
        "but that of dimension 0 are no larger\n"
        "gather(zeros(2), 0, zeros(2)) => gather: the index is int64: index is f32[2]; convert with .to(i64)",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::index)},
    .index = arg::index.at,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::gather_op
