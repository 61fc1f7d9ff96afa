#include <algorithm>

#include "corridor/batching.h"
#include "loops/strided_copy_kernel.h"
#include "ops/expected.h"
#include "ops/index/batched.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::index_fill_op {
namespace {

int64_t dim_of(const Call& c) { return wrap_dim(c.name, c[arg::dim], c[arg::self].dim()); }
void infer(Call& c) {
  const Tensor &self = c[arg::self], &index = c[arg::index];
  dim_of(c);
  check_index_type(c, index);
  DY_CHECK_AS(IndexError, index.dim() <= 1, "{}: the index has one dimension: index is {}", c.name, describe(index));
  expect_number(c.name, c[arg::value], plain(self));
  infer_like_first(c);
}
// Elements behind dim: rows long enough are written once, as they were or filled.
int64_t lanes_of(const Call& c) {
  int64_t n = 1;
  for (int64_t d = dim_of(c) + 1; d < c[arg::self].dim(); ++d) n *= c[arg::self].size(d);
  return n;
}
struct Parameters {
  IndexedLoop loop;
  Positions positions;
  Operand out, self;
  int64_t lanes;  // rows of so many are written once; 0: elements one by one
  alignas(16) char value[16];
};
void run_rows(const Parameters& p, const Pointers& at) {
  const int64_t width = p.out.itemsize(), lanes = p.lanes, size = p.positions.size;
  char *named = static_cast<char*>(at.workspace), *to = static_cast<char*>(at.out[0]);
  const char* from = static_cast<char*>(at.in[0]);
  const auto* index = static_cast<const int64_t*>(at.in[arg::index.tensor]);
  std::fill_n(named, size, char{0});
  for (int64_t j = 0; j < p.positions.count; ++j) named[index[j]] = 1;
  parallel_for(p.out.numel() / lanes, std::max<int64_t>(1, 16384 / lanes), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      char* here = to + row * lanes * width;
      if (named[row % size])
        strided_copy_kernel().splat(here, p.value, lanes, width);
      else
        std::copy_n(from + row * lanes * width, lanes * width, here);
    }
  });
}
void run(const Parameters& p, const Pointers& at) {
  const void* index = at.in[arg::index.tensor];
  p.positions.check(index);
  if (p.lanes && at.in[0] != at.out[0]) return run_rows(p, at);
  start_from_self(at, p.out, p.self);
  indexed_kernel().write(at_positions(p.loop, index), at.out[0], p.value, p.out.itemsize());
}
void plan(Call& c) {
  const Operand out = c.result(), self = c.operand(arg::self);
  const bool rows = lanes_of(c) >= 16 && out.is_contiguous();
  Parameters p{loop_along_1d(out, {}, c[arg::index].numel(), dim_of(c)),
               positions_along(c, c[arg::index], dim_of(c)),
               out,
               self,
               rows ? lanes_of(c) : 0,
               {}};
  encode_number(c[arg::value], out.dtype(), p.value);
  c.plan.workspace = rows ? p.positions.size : 0;
  c.plan.set<run>(p);
}
void backward(Grad& g) { g.set(arg::self, index_fill(g.g(), g[arg::dim], g.in(arg::index), 0)); }

bool batched(BatchedCall& b) { return batched_fill(b); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "index_fill(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    .doc = "self with a number written to the entries of dim that index (int64, one dimension) names.",
    .inplace = true,
    .samples =
        "index_fill(randn(3, 4), 0, indices(3; 2), 1.5)\n"
        "index_fill(randn(2, 3, 4), 1, indices(3; 2), 2)\n"
        "index_fill(randn(2, 3, 20), 1, indices(3; 2), 2)\n"
        "index_fill(randn(), 0, indices(1; 1), 0)",
    .bad =
        "index_fill(zeros(2), 0, indices(5; 2), 1) => index_fill: index out of range: index 4 at position 0; dimension 0 has 2 "
        "entries",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::index)},
    .index = arg::index.at,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::index_fill_op
