#include "ops/expected.h"
#include "ops/nn/softmax.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::softmax_along_backward_op {
namespace {

void infer(Call& c) {
  check_float("softmax_along_backward", c.tensor(1), "result");
  DY_CHECK(c.tensor(1).dim() > 0, "{}: no rows: result is {}", c.name, describe(c.tensor(1)));
  expect_operand(c, 0, "grad", c.tensor(1).sizes());
  infer_like_first(c);
  c.spec[0].dtype = plain(c.tensor(1));
}
void forward(Call& c) {
  const Tensor &dy = c.tensor(0), &y = c.tensor(1), &dx = c.out[0];
  const AlongDim along(c.name, y.sizes(), c.integer(2));
  softmax_kernel().backward(source_of(y), source_of(dy), target_of(dx), along.outer, along.n, along.inner, c.boolean(3));
}
double flops(const Call& c) { return 4.0 * double(c.tensor(0).numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "softmax_along_backward(Tensor grad, Tensor result, int dim, bool log) -> Tensor",
    .doc = "The gradient of softmax_along from its result, in one pass.",
    .samples =
        "softmax_along_backward(randn(3, 5), rand(3, 5), 1, False)\nsoftmax_along_backward(randn(3, 5), rand(3, 5), 1, True)\n"
        "softmax_along_backward(randn(2, 3, 9), rand(2, 3, 9), 1, False)",
    .infer = infer,
    .forward = forward,
    .flops = flops,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::softmax_along_backward_op
