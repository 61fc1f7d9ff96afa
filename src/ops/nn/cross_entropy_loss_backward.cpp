#include "corridor/batching.h"
#include "ops/expected.h"
#include "ops/nn/cross_entropy_kernel.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::cross_entropy_loss_backward_op {
namespace {

void infer(Call& c) {
  check_float("cross_entropy_loss_backward", c[arg::input], "input");
  const Tensor& x = c[arg::input];
  DY_CHECK(x.dim() == 2, "{}: the input is [rows, classes]: input is {}", c.name, describe(x));
  if (c[arg::reduction] == 0)
    expect_operand(c, 0, "grad", {x.size(0)});
  else
    expect_operand(c, 0, "grad", {});
  expect_operand(c, 2, "target", {x.size(0)}, i64);
  expect_operand(c, 3, "lse", {x.size(0)}, x.dtype() == f64 ? f64 : f32);
  c.spec[0].dtype = plain(c[arg::input]);
  c.spec[0].device = c[arg::input].device();
  c.spec[0].shape(c[arg::input].sizes());
}
struct Parameters {
  CrossEntropyShape shape;
  int64_t reduction, grads;            // how many gradients: one per row, or one
  const Format *grad, *x, *own, *out;  // own: of lse, and of the gradient in workspace
};
void run(const Parameters& p, const Pointers& at) {
  const CrossEntropyShape& s = p.shape;
  const auto* targets = static_cast<const int64_t*>(at.in[2]);
  expect_indices("cross_entropy_loss_backward", targets, s.rows, s.classes, s.ignore_index);
  convert(*p.grad, at.in[0], *p.own, at.workspace, p.grads);
  double scale = 1;
  if (p.reduction == 1) {
    int64_t counted = 0;
    for (int64_t i = 0; i < s.rows; ++i) counted += targets[i] != s.ignore_index;
    scale = 1 / double(counted);
  }
  cross_entropy_kernel().backward(s, {at.in[1], p.x}, targets, at.in[3], at.workspace, p.reduction == 0, scale,
                                  {at.out[0], p.out});
}
void plan(Call& c) {
  const Tensor& x = c[arg::input];
  const CrossEntropyShape s{x.size(0), x.size(1), c[arg::ignore_index], c[arg::label_smoothing]};
  const int64_t grads = c[arg::grad].numel();
  c.plan.workspace = grads * 8;
  c.plan.set<run>(Parameters{s, c[arg::reduction], grads, format_of(c, arg::grad), format_of(c, arg::input),
                             format_of(c, arg::lse), result_format(c)});
}
double flops(const Call& c) { return 13.0 * double(c[arg::input].numel()); }

bool batched(BatchedCall& b) {
  const Call& c = b.c;
  if (c[arg::reduction] == 0) return b.first(0);
  const int64_t rows = c[arg::input].size(0), classes = c[arg::input].size(1);
  const Tensor t = b.whole(arg::target);
  Tensor g = b.whole(arg::grad).to(c[arg::lse].dtype());
  if (c[arg::reduction] == 1) g = div(g, sum(ne(t, c[arg::ignore_index]), {1}).to(g.dtype()));
  b.results[0] = call(Op::cross_entropy_loss_backward_, expand(unsqueeze(g, 1), {b.entries, rows}).reshape({-1}),
                      b.whole(arg::input).reshape({b.entries * rows, classes}), t.reshape({-1}),
                      b.whole(arg::lse).reshape({-1}), int64_t(0), c[arg::ignore_index], c[arg::label_smoothing]);
  return true;
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "cross_entropy_loss_backward(Tensor grad, Tensor input, Tensor target, Tensor lse, int reduction, int ignore_index, "
        "float label_smoothing=0.0) -> "
        "Tensor",
    .doc = "(softmax(input) - one_hot(target)) times the gradient, in one pass.",
    .internal = true,
    .samples =
        "cross_entropy_loss_backward(randn(), randn(4, 5), indices(5; 4), rand(4; wide), 1, "
        "-100)\ncross_entropy_loss_backward(randn(4), randn(4, 5), indices(5; 4), rand(4; wide), 0, "
        "2)\ncross_entropy_loss_backward(randn(), randn(4, 5), indices(5; 4), rand(4; wide), 2, 2, 0.2)",
    .infer = infer,
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::cross_entropy_loss_backward_op
