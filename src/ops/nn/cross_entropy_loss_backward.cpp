#include "ops/expected.h"
#include "ops/nn/cross_entropy_kernel.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::cross_entropy_loss_backward_op {
namespace {

void infer(Call& c) {
  check_float("cross_entropy_loss_backward", c.tensor(1), "input");
  const Tensor& x = c.tensor(1);
  DY_CHECK(x.dim() == 2, "{}: the input is [rows, classes]: input is {}", c.name, describe(x));
  if (c.integer(4) == 0)
    expect_operand(c, 0, "grad", {x.size(0)});
  else
    expect_operand(c, 0, "grad", {});
  expect_operand(c, 2, "target", {x.size(0)}, i64);
  expect_operand(c, 3, "lse", {x.size(0)}, x.dtype() == f64 ? f64 : f32);
  c.spec[0].dtype = plain(c.tensor(1));
  c.spec[0].device = c.tensor(1).device();
  c.spec[0].shape(c.tensor(1).sizes());
}
int64_t workspace(const Call& c) { return c.tensor(0).numel() * 8; }
void forward(Call& c) {
  const Tensor &g = c.tensor(0), &x = c.tensor(1), &t = c.tensor(2), &lse = c.tensor(3);
  CrossEntropyShape s{x.size(0), x.size(1), c.integer(5), c.real(6)};
  expect_indices(c, t, s.classes, s.ignore_index);
  const int64_t* targets = t.data<int64_t>();
  Tensor own = make_over(c.workspace, g.sizes(), lse.dtype());
  assign(own, g);
  double scale = 1;
  if (c.integer(4) == 1) {
    int64_t counted = 0;
    for (int64_t i = 0; i < s.rows; ++i) counted += targets[i] != s.ignore_index;
    scale = 1 / double(counted);
  }
  cross_entropy_kernel().backward(s, source_of(x), targets, lse.impl()->data(), c.workspace, c.integer(4) == 0, scale,
                                  target_of(c));
}
double flops(const Call& c) { return 13.0 * double(c.tensor(1).numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "cross_entropy_loss_backward(Tensor grad, Tensor input, Tensor target, Tensor lse, int reduction, int ignore_index, "
        "float label_smoothing=0.0) -> "
        "Tensor",
    .doc = "(softmax(input) - one_hot(target)) times the gradient, in one pass.",
    .samples =
        "cross_entropy_loss_backward(randn(), randn(4, 5), indices(5; 4), rand(4; wide), 1, "
        "-100)\ncross_entropy_loss_backward(randn(4), randn(4, 5), indices(5; 4), rand(4; wide), 0, "
        "2)\ncross_entropy_loss_backward(randn(), randn(4, 5), indices(5; 4), rand(4; wide), 2, 2, 0.2)",
    .infer = infer,
    .forward = forward,
    .flops = flops,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::cross_entropy_loss_backward_op
