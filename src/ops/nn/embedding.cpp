#include "ops/common.h"
#include "ops/nn/embedding_kernel.h"

namespace dyadic::inline v1::ops::embedding_op {
namespace {

void infer(Call& c) {
  const Tensor &w = c.tensor(0), &i = c.tensor(1);
  DY_CHECK(w.dim() == 2, "embedding: the weight is not a matrix: weight is {}", describe(w));
  DY_CHECK_AS(TypeError, i.dtype() == i64, "embedding: indices are int64: indices is {}; convert with .to(i64)", describe(i));
  DY_CHECK(i.dim() < kMaxDims, "embedding: too many dimensions: indices is {}", describe(i));
  c.spec[0].dtype = w.dtype().is_scaled() ? f32 : w.dtype();
  c.spec[0].device = w.device();
  c.spec[0].shape(i.sizes());
  c.spec[0].sizes[c.spec[0].ndim++] = w.size(1);
}
void forward(Call& c) {
  const Tensor &w = c.tensor(0), &i = c.tensor(1);
  EmbeddingShape s{w.size(0), w.size(1), i.numel()};
  const int64_t* index = i.data<int64_t>();
  int64_t bad = embedding_kernel().gather(s, w.impl()->data(), w.dtype().itemsize(), index, c.out[0].impl()->data());
  DY_CHECK_AS(IndexError, bad < 0, "embedding: index out of range: index {} at position {}; the weight has {} rows", index[bad],
              bad, s.rows);
}
void backward(Grad& g) {
  g.set(0, call(Op::embedding_backward_, g.g(), g.in(1), g.in_meta(0).sizes[0], g.integer(2), g.boolean(3)));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False) -> Tensor",
    .doc =
        "Rows of weight [rows, dim] by int64 index: the result has the indices' shape with dim behind it. The row "
        "padding_idx gets no gradient. scale_grad_by_freq: a row's gradient is divided by how often it is read.",
    .samples = "embedding(randn(5, 3), indices(5; 2, 4))",
    .bad =
        "embedding(zeros(2, 3), indices(9; 1)) => embedding: index out of range: index 8 at position 0; the weight has 2 rows",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(1)},
    .dense = true,
    .index = 1,
};

}  // namespace dyadic::inline v1::ops::embedding_op
