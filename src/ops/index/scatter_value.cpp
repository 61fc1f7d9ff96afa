#include "ops/expected.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::scatter_value_op {
namespace {

void infer(Call& c) {
  c.name = "scatter";
  const Tensor &self = c[arg::self], &index = c[arg::index];
  const int64_t dim = wrap_dim(c.name, c[arg::dim], self.dim());
  check_index_shape(c, index, self, "self", dim);
  expect_number(c.name, c[arg::value], plain(self));
  infer_like_first(c);
}
struct Parameters {
  IndexedLoop loop;
  Positions positions;
  Operand out, self;
  alignas(16) char value[16];
};
void run(const Parameters& p, const Pointers& at) {
  const void* index = at.in[arg::index.tensor];
  p.positions.check(index);
  start_from_self(at, p.out, p.self);
  indexed_kernel().write(at_positions(p.loop, index), at.out[0], p.value, p.out.itemsize());
}
void plan(Call& c) {
  const int64_t dim = wrap_dim(c.name, c[arg::dim], c[arg::self].dim());
  const Operand out = c.result();
  Parameters p{loop_along(out, {}, c.operand(arg::index), dim),
               positions_along(c, c[arg::index], dim, true),
               out,
               c.operand(arg::self),
               {}};
  encode_number(c[arg::value], out.dtype(), p.value);
  c.plan.set<run>(p);
}
void backward(Grad& g) { g.set(arg::self, scatter_value(g.g(), g[arg::dim], g.in(arg::index), 0)); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    .doc = "self with a number written along dim where index says.",
    .inplace = true,
    .samples =
        "scatter_value(randn(3, 4), 1, indices(4; 3, 2), 1.5)\n"
        "scatter_value(randn(3, 4), 0, indices(3; 2, 4), 2)",
    .bad =
        "scatter_value(zeros(2), 0, indices(5; 2), 1) => scatter: index out of range: index 4 at position 0; dimension 0 "
        "has 2 entries",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::index)},
    .index = arg::index.at,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::scatter_value_op
