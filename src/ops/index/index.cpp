#include "corridor/batching.h"
#include "ops/common.h"
#include "ops/index/batched.h"
#include "ops/index/indexed.h"
#include "ops/index/stored_rows.h"

namespace dyadic::inline v1::ops::index_op {
namespace {

void infer(Call& c) {
  const IndexedDims d = indexed_dims(c, c[arg::indices], c.arg(arg::dims));
  infer_like_first(c);
  c.spec[0].shape(d.result_shape(c[arg::self]));
}
struct Parameters {
  IndexedLoop loop;
  Offsets offsets;
  int64_t width;
};
void run(const Parameters& p, const Pointers& at) {
  const auto read = [&](const void* positions, int64_t stride, int64_t size) {
    IndexedLoop loop = at_positions(p.loop, positions);
    loop.indexed.place = stride;
    return indexed_kernel().read(loop, at.in[0], at.out[0], p.width, size);
  };
  const Offsets::Index& first = p.offsets.index[0];
  if (p.offsets.indices == 1 && first.dense && read(at.in[1], first.stride, first.size))
    return;  // one index without negative entries needs no offsets
  auto* offsets = static_cast<int64_t*>(at.workspace);
  p.offsets.write(at, offsets);
  read(offsets, 1, kAnyPosition);
}
// Of a stored tensor.
struct Rows {
  StoredRows rows;
  Offsets offsets;
};
void run_stored(const Rows& p, const Pointers& at) {
  auto* offsets = static_cast<int64_t*>(at.workspace);
  p.offsets.write(at, offsets);
  p.rows.run(at.in[0], offsets, at.out[0]);
}

void plan(Call& c) {
  const Operand self = c.operand(arg::self), out = c.result();
  const IndexedDims d = indexed_dims(c, c[arg::indices], c.arg(arg::dims));
  c.plan.workspace = d.count() * 8;
  if (out.numel() == 0) return;
  if (self.format->is_blocked()) {
    const Rows p{{self, out, d.mask, d.place, d.count()}, plan_offsets(c, c[arg::indices], d, self, 1)};
    c.plan.workspace = p.rows.workspace();
    return c.plan.set<run_stored>(p);
  }
  c.plan.set<run>(Parameters{loop_at_offsets(self, d.mask, out, d.place, d.ndim), plan_offsets(c, c[arg::indices], d, self, 1),
                             self.itemsize()});
}
void backward(Grad& g) {
  std::vector<Tensor> indices;
  for (int i = 0; i < int(g.arg(arg::indices).n); ++i) indices.push_back(g.in(1 + i));
  const Meta& m = g.in_meta(arg::self);
  g.set(arg::self, call(Op::index_write_, zeros(m.shape(), g.g().dtype(), m.device), g.g(), std::span<const Tensor>(indices),
                        g.arg(arg::dims), true));
}

bool batched(BatchedCall& b) {
  return batched_read(b, indexed_dims(b.c, b.c[arg::indices], b.c.arg(arg::dims)), b.c[arg::indices]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "index(Tensor self, Tensor[] indices, int[]? dims=None) -> Tensor",
    .doc =
        "The elements at int64 indices of several dimensions at once (the first ones if dims is absent), as numpy's advanced "
        "indexing: the indices are broadcast, their shape takes the place of the indexed dimensions if those are neighbours, "
        "else it comes first. Negative indices count from the end. Of "
        "a stored tensor (nf4, q4_K ...) the elements that are read are decoded, and no others.",
    .samples =
        "index(randn(3, 4), [indices(3; 5)])\n"
        "index(randn(3, 4), [indices(3; 2, 1), indices(4; 3)])\n"
        "index(randn(3, 4, 2), [indices(4; 3)], [1])\n"
        "index(randn(3, 4, 2), [indices(3; 2, 2), indices(2; 2)], [0, 2])\n"
        "index(randn(3, 4), [indices(4; 0)], [1])",
    .bad =
        "index(zeros(2, 3), [indices(5; 2)]) => index: index out of range: index 4 at position 0; dimension 0 has 2 entries\n"
        "index(zeros(2), [indices(2; 2), indices(2; 2)]) => index: too many indices: 2 for f32[2]\n"
        "index(zeros(2), [zeros(2)]) => index: the index is int64: index is f32[2]; convert with .to(i64)",
    .infer = infer,
    .backward = backward,
    .needs = {kIndices},
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = in(arg::self)};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::index_op
