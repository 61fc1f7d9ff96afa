#include "ops/expected.h"
#include "ops/nn/softmax_kernel.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::softmax_rows_backward_op {
namespace {

void infer(Call& c) {
  check_float("softmax_rows_backward", c.tensor(1), "result");
  DY_CHECK(c.tensor(1).dim() > 0, "{}: no rows: result is {}", c.name, describe(c.tensor(1)));
  expect_operand(c, 0, "grad", c.tensor(1).sizes());
  infer_like_first(c);
  c.spec[0].dtype = plain(c.tensor(1));
}
void forward(Call& c) {
  const Tensor &dy = c.tensor(0), &y = c.tensor(1), &dx = c.out[0];
  int64_t n = y.size(-1);
  softmax_kernel().backward(source_of(y), source_of(dy), target_of(dx), n ? y.numel() / n : 0, n, c.boolean(2));
}
double flops(const Call& c) { return 4.0 * double(c.tensor(0).numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "softmax_rows_backward(Tensor grad, Tensor result, bool log) -> Tensor",
    .doc = "The gradient of softmax_rows from its result, in one pass.",
    .samples = "softmax_rows_backward(randn(3, 5), rand(3, 5), False)\nsoftmax_rows_backward(randn(3, 5), rand(3, 5), True)",
    .infer = infer,
    .forward = forward,
    .flops = flops,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::softmax_rows_backward_op
