#include "corridor/batching.h"
#include "ops/expected.h"
#include "ops/nn/embedding_kernel.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::embedding_backward_op {
namespace {

EmbeddingShape shape(const Call& c) { return {c[arg::num_weights], c[arg::grad].size(-1), c[arg::indices].numel()}; }
void infer(Call& c) {
  check_float("embedding_backward", c[arg::grad], "grad");
  const Tensor &grad = c[arg::grad], &indices = c[arg::indices];
  DY_CHECK(grad.dim() == indices.dim() + 1, "{}: the sizes do not fit: grad is {}, indices is {}", c.name, describe(grad),
           describe(indices));
  expect_operand(c, 1, "indices", {grad.sizes().begin(), grad.sizes().size() - 1}, i64);
  DY_CHECK(c[arg::num_weights] >= 0, "{}: num_weights is {}; it is not negative", c.name, c[arg::num_weights]);
  EmbeddingShape s = shape(c);
  c.spec[0].dtype = c[arg::grad].dtype().is_scaled() ? f32 : c[arg::grad].dtype();
  c.spec[0].device = c[arg::grad].device();
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
  const Parameters p{shape(c), c[arg::padding_idx], c[arg::scale_grad_by_freq], format_of(c, arg::grad), result_format(c)};
  c.plan.workspace = embedding_kernel().scatter_workspace(p.shape);
  c.plan.set<run>(p);
}
void backward(Grad& g) {
  Tensor rows = embedding(g.g(), g.in(arg::indices));
  if (g[arg::scale_grad_by_freq]) {
    const Tensor ones = full({g.in(arg::indices).numel(), 1}, 1.0, f32, rows.device());
    const Tensor counts =
        call(Op::embedding_backward_, ones, g.in(arg::indices).reshape({-1}), g[arg::num_weights], int64_t(-1), false);
    rows = div(rows, embedding(counts, g.in(arg::indices)).to(rows.dtype()));
  }
  if (g[arg::padding_idx] >= 0) rows = mul(rows, unsqueeze(ne(g.in(arg::indices), g[arg::padding_idx]), -1).to(rows.dtype()));
  g.set(arg::grad, rows);
}
double flops(const Call& c) { return double(c[arg::grad].numel()); }

// Each entry has rows of its own in one table.
bool batched(BatchedCall& b) {
  const Call& c = b.c;
  const int64_t n = c[arg::num_weights], skip = c[arg::padding_idx];
  const Tensor i = b.whole(arg::indices);
  std::vector<int64_t> column(size_t(i.dim()), 1);
  column[0] = b.entries;
  const Tensor moved = add(i, mul(arange(0, b.entries, 1, i64, i.device()), n).reshape(column));
  Tensor rows =
      call(Op::embedding_backward_, b.whole(arg::grad), moved, n * b.entries, int64_t(-1), c[arg::scale_grad_by_freq]);
  rows = rows.reshape({b.entries, n, rows.size(1)});
  if (skip >= 0 && skip < n) select(rows, 1, skip).zero_();
  b.results[0] = rows;
  return true;
}

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
    .needs = {in(arg::indices)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::embedding_backward_op
