#include "ops/nn/layer_norm_kernel.h"
#include "ops/norm/statistics.h"

namespace dyadic::inline v1::ops::native_layer_norm_backward_op {
namespace {

LayerNormShape rows(const Call& c) {
  int64_t n = c.integer(5);
  return {n ? c.tensor(1).numel() / n : 0, n, c.boolean(7)};
}
void infer(Call& c) {
  check_float(c.name, c.tensor(1), "input");
  check_rows(c, c.tensor(1), c.integer(5));
  infer_gradients(c, c.integer(5), rows(c).rows);
}
int64_t workspace(const Call& c) { return layer_norm_kernel().backward_workspace(rows(c), source_of(c, 1), source_of(c, 2)); }
void forward(Call& c) {
  layer_norm_kernel().backward(rows(c), source_of(c, 0), source_of(c, 1), source_of(c, 2), c.tensor(3).impl()->data(),
                               c.tensor(4).impl()->data(), target_of(c, 0), target_of(c, 1), target_of(c, 2), c.workspace);
}
double flops(const Call& c) { return 14.0 * double(c.tensor(0).numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "native_layer_norm_backward(Tensor grad, Tensor input, Tensor? weight, Tensor mean, Tensor rstd, int normalized, bool "
        "with_bias, bool centred=True) -> (Tensor, Tensor, Tensor)",
    .doc =
        "The gradients of native_layer_norm for input, weight and bias, in one pass; the rows of the latter two are added in a "
        "fixed order.",
    .samples = "native_layer_norm_backward(randn(3, 8), randn(3, 8), randn(8), randn(3; wide), rand(3; wide), 8, True)",
    .infer = infer,
    .forward = forward,
    .flops = flops,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::native_layer_norm_backward_op
