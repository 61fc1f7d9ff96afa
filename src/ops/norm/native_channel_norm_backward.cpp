#include "ops/norm/channel_norm_kernel.h"
#include "ops/norm/statistics.h"

namespace dyadic::inline v1::ops::native_channel_norm_backward_op {
namespace {

ChannelNormShape shape_of(const Call& c) {
  const Tensor& x = c.tensor(1);
  return {x.size(0), x.size(1), x.size(2), c.integer(5)};
}
void infer(Call& c) {
  const Tensor& x = c.tensor(1);
  check_float(c.name, x, "input");
  DY_CHECK(x.dim() == 3, "{}: the input is [batch, channels, inner]: input is {}", c.name, describe(x));
  const ChannelNormShape s = shape_of(c);
  DY_CHECK(s.groups >= 0 && (s.groups == 0 || s.channels % s.groups == 0),
           "{}: the groups do not divide the channels: input is {}, groups is {}", c.name, describe(x), s.groups);
  infer_gradients(c, s.channels, s.classes());
}
int64_t workspace(const Call& c) { return channel_norm_kernel().backward_workspace(shape_of(c), source_of(c, 1)); }
void forward(Call& c) {
  channel_norm_kernel().backward(shape_of(c), source_of(c, 0), source_of(c, 1), source_of(c, 2), c.tensor(3).impl()->data(),
                                 c.tensor(4).impl()->data(), target_of(c, 0), target_of(c, 1), target_of(c, 2), c.workspace);
}
double flops(const Call& c) { return 14.0 * double(c.tensor(0).numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "native_channel_norm_backward(Tensor grad, Tensor input, Tensor? weight, Tensor mean, Tensor rstd, int groups, bool "
        "with_bias) -> (Tensor, Tensor, Tensor)",
    .doc = "The gradients of native_channel_norm for input, weight and bias; the sums are added in a fixed order.",
    .samples =
        "native_channel_norm_backward(randn(2, 4, 3), randn(2, 4, 3), randn(4), randn(4; wide), rand(4; wide), 0, True)\n"
        "native_channel_norm_backward(randn(2, 4, 3), randn(2, 4, 3), randn(4), randn(4; wide), rand(4; wide), 2, True)",
    .infer = infer,
    .forward = forward,
    .flops = flops,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::native_channel_norm_backward_op
