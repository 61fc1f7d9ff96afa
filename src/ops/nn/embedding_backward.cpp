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
struct Parameters {
  EmbeddingShape shape;
  int64_t skip;
  bool mean;
  const Format *grad, *out;
};
void run(const Parameters& p, const Pointers& at) {
  const auto* index = static_cast<const int64_t*>(at.in[1]);
  expect_indices("embedding_backward", index, p.shape.count, p.shape.rows);
  embedding_kernel().scatter(p.shape, {at.in[0], p.grad}, index, p.skip, {at.out[0], p.out}, false, p.mean, at.workspace);
}
void plan(Call& c) {
  const Parameters p{shape(c), c.integer(3), c.boolean(4), format_of(c, 0), result_format(c)};
  c.plan.workspace = embedding_kernel().scatter_workspace(p.shape);
  c.plan.set<run>(p);
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
    .internal = true,
    .samples =
        "embedding_backward(randn(2, 4, 3), indices(5; 2, 4), 5)\nembedding_backward(randn(4, 3), indices(5; 4), 5, 4)\n"
        "embedding_backward(randn(6, 3), indices(3; 6), 4, -1, True)",
    .infer = infer,
    .backward = backward,
    .needs = {in(1)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::embedding_backward_op
