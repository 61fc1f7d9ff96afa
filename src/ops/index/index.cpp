#include "ops/common.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops::index_op {
namespace {

void infer(Call& c) {
  const IndexedDims d = indexed_dims(c, c.tensors(1), c.args[2]);
  infer_like_first(c);
  c.spec[0].shape(d.result_shape(c.tensor(0)));
}
int64_t workspace(const Call& c) { return indexed_dims(c, c.tensors(1), c.args[2]).count() * 8; }
void forward(Call& c) {
  const Tensor& self = c.tensor(0);
  const IndexedDims d = indexed_dims(c, c.tensors(1), c.args[2]);
  if (c.out[0].numel() == 0) return;
  auto read = [&](const int64_t* positions, int64_t stride, int64_t size) {
    IndexedLoop loop = loop_at_offsets(self, d.mask, c.out[0], d.place, d.ndim, positions);
    loop.indexed.place = stride;
    return indexed_kernel().read(loop, self.impl()->data(), c.out[0].impl()->data(), self.dtype().itemsize(), size);
  };
  const Tensor& first = c.tensors(1)[0];
  const int64_t dim = d.dim[0];
  if (c.tensors(1).size() == 1 && first.is_contiguous() &&
      read(first.data<int64_t>(), self.impl()->strides[dim], self.size(dim)))
    return;  // one index without negative entries needs no offsets
  int64_t* offsets = static_cast<int64_t*>(c.workspace);
  write_offsets(c, self, c.tensors(1), d, offsets);
  read(offsets, 1, kAnyPosition);
}
void backward(Grad& g) {
  std::vector<Tensor> indices;
  for (int i = 0; i < int(g.node.args[1].n); ++i) indices.push_back(g.in(1 + i));
  const Meta& m = g.in_meta(0);
  g.set(0, call(Op::index_write_, zeros(m.shape(), g.g().dtype(), m.device), g.g(), std::span<const Tensor>(indices),
                g.node.args[2], true));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "index(Tensor self, Tensor[] indices, int[]? dims=None) -> Tensor",
    .doc =
        "The elements at int64 indices of several dimensions at once (the first ones if dims is absent), as numpy's advanced "
        "indexing: the indices are broadcast, their shape takes the place of the indexed dimensions if those are neighbours, "
        "else it comes first. Negative indices count from the end.",
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
    .forward = forward,
    .backward = backward,
    .needs = {kIndices},
    .workspace = workspace,
};

}  // namespace dyadic::inline v1::ops::index_op
