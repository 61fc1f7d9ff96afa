#include "ops/expected.h"
#include "ops/nn/embedding_kernel.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::embedding_backward_op {
namespace {

EmbeddingShape shape(const Call& c) { return {c.integer(2), c.tensor(0).size(-1), c.tensor(1).numel()}; }
void infer(Call& c) {
  check_float("embedding_backward", c.tensor(0), "grad");
  const Tensor &grad = c.tensor(0), &indices = c.tensor(1);
  DY_CHECK(grad.dim() == indices.dim() + 1, "{}: the sizes do not fit: grad is {}, indices is {}", c.name, describe(grad),
           describe(indices));
  expect_operand(c, 1, "indices", {grad.sizes().begin(), grad.sizes().size() - 1}, i64);
  DY_CHECK(c.integer(2) >= 0, "{}: num_weights is {}; it is not negative", c.name, c.integer(2));
  EmbeddingShape s = shape(c);
  c.spec[0].dtype = c.tensor(0).dtype().is_scaled() ? f32 : c.tensor(0).dtype();
  c.spec[0].device = c.tensor(0).device();
  c.spec[0].shape({s.rows, s.dim});
}
int64_t workspace(const Call& c) { return embedding_kernel().scatter_workspace(shape(c)); }
void forward(Call& c) {
  expect_indices(c, c.tensor(1), c.integer(2));
  embedding_kernel().scatter(shape(c), source_of(c, 0), c.tensor(1).data<int64_t>(), c.integer(3), target_of(c), false,
                             c.boolean(4), c.workspace);
}
void backward(Grad& g) {
  Tensor rows = embedding(g.g(), g.in(1));
  if (g.boolean(4)) {
    const Tensor ones = full({g.in(1).numel(), 1}, 1.0, f32, rows.device());
    const Tensor counts = call(Op::embedding_backward_, ones, g.in(1).reshape({-1}), g.integer(2), int64_t(-1), false);
    rows = div(rows, embedding(counts, g.in(1)).to(rows.dtype()));
  }
  if (g.integer(3) >= 0) rows = mul(rows, unsqueeze(ne(g.in(1), g.integer(3)), -1).to(rows.dtype()));
  g.set(0, rows);
}
double flops(const Call& c) { return double(c.tensor(0).numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "embedding_backward(Tensor grad, Tensor indices, int num_weights, int padding_idx=-1, bool scale_grad_by_freq=False) "
        "-> "
        "Tensor",
    .doc =
        "Rows of grad added up by index into [num_weights, dim], in the order of the indices but for those that are "
        "padding_idx: the gradient of embedding. scale_grad_by_freq: a row's sum is divided by how many there are.",
    .samples =
        "embedding_backward(randn(2, 4, 3), indices(5; 2, 4), 5)\nembedding_backward(randn(4, 3), indices(5; 4), 5, 4)\n"
        "embedding_backward(randn(6, 3), indices(3; 6), 4, -1, True)",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(1)},
    .flops = flops,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::embedding_backward_op
