#include "ops/nn/softmax_kernel.h"
#include "ops/operands.h"

namespace dyadic::inline v1::ops::softmax_rows_op {
namespace {

void infer(Call& c) {
  check_float(c.boolean(1) ? "log_softmax" : "softmax", c.tensor(0), "self");
  infer_like_first(c);
}
void forward(Call& c) {
  const Tensor &x = c.tensor(0), &y = c.out[0];
  int64_t n = x.size(-1);
  softmax_kernel().forward(source_of(x), target_of(y), n ? x.numel() / n : 0, n, c.boolean(1));
}
void backward(Grad& g) {
  Tensor y = g.out();
  if (!GradMode::enabled()) {
    g.set(0, call(Op::softmax_rows_backward_, g.g().contiguous(), y, g.boolean(1)));
  } else if (g.boolean(1)) {
    g.set(0, sub(g.g(), mul(exp(y), sum(g.g(), {-1}, true))));
  } else {
    g.set(0, mul(y, sub(g.g(), sum(mul(g.g(), y), {-1}, true))));
  }
}
double flops(const Call& c) { return 13.0 * double(c.tensor(0).numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "softmax_rows(Tensor self, bool log) -> Tensor",
    .doc = "softmax (or its logarithm) over the last dimension of a contiguous tensor.",
    .amp = Amp::f32,
    .samples = "softmax_rows(randn(3, 5), False)\nsoftmax_rows(randn(3, 5), True)",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {out(0)},
    .flops = flops,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::softmax_rows_op
