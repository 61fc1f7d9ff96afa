#include "ops/common.h"
#include "ops/nn/layer_norm_kernel.h"

namespace dyadic::inline v1::ops {
namespace {

Source source(const Call& c, int i) {
  if (!c.has(i)) return {};
  return {c.tensor(i).impl()->data(), c.tensor(i).dtype().format()};
}
LayerNormShape rows(const Call& c) {
  int64_t n = c.integer(5);
  return {n ? c.tensor(1).numel() / n : 0, n};
}
void infer(Call& c) {
  check_float("native_layer_norm_backward", c.tensor(1), "input");
  check_float("native_layer_norm_backward", c.tensor(1), "input");
  infer_like_first(c);
  c.spec[0].dtype = plain(c.tensor(1));
  c.nout = 3;
  int64_t n = c.integer(5);
  for (int i = 1; i < 3; ++i) {
    bool wanted = i == 1 ? c.has(2) : c.boolean(6);
    c.spec[i].dtype = !wanted ? DType() : c.has(2) ? plain(c.tensor(2)) : c.spec[0].dtype;
    c.spec[i].device = c.spec[0].device;
    c.spec[i].shape({&n, 1});
  }
}
int64_t workspace(const Call& c) { return layer_norm_kernel().backward_workspace(rows(c), source(c, 1), source(c, 2)); }
void forward(Call& c) {
  auto target = [&](int i) {
    return c.out[i].defined() ? Target{c.out[i].impl()->data(), c.out[i].dtype().format()} : Target{};
  };
  layer_norm_kernel().backward(rows(c), source(c, 0), source(c, 1), source(c, 2), c.tensor(3).impl()->data(),
                               c.tensor(4).impl()->data(), target(0), target(1), target(2), c.workspace);
}
double flops(const Call& c) { return 14.0 * double(c.tensor(0).numel()); }

}  // namespace

extern constexpr OpDef native_layer_norm_backward_op = {
    .sig =
        "native_layer_norm_backward(Tensor grad, Tensor input, Tensor? weight, Tensor mean, Tensor rstd, int normalized, bool "
        "with_bias) -> (Tensor, Tensor, Tensor)",
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

}  // namespace dyadic::inline v1::ops
