#include <algorithm>

#include "ops/norm/norm.h"

namespace dyadic::inline v1::ops::instance_norm_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::input];
  check_float("instance_norm", x, "input");
  DY_CHECK(x.dim() >= 2, "instance_norm: the input has no channels: input is {}", describe(x));
  if (!a[arg::use_input_stats]) {
    DY_CHECK(a.has(arg::running_mean) && a.has(arg::running_var),
             "instance_norm: statistics are missing: without use_input_stats it takes running_mean and running_var");
    return call(Op::batch_norm_, x, a[arg::running_mean], a[arg::running_var], a.optional(arg::weight), a.optional(arg::bias),
                false, a[arg::momentum], a[arg::eps]);
  }
  const int64_t images = x.size(0), channels = x.size(1), n = x.numel() / std::max<int64_t>(images * channels, 1);
  DY_CHECK_AS(ValueError, n > 1 || x.numel() == 0, "instance_norm: one value per channel has no variance: input is {}",
              describe(x));
  if (a.has(arg::running_mean) && a.has(arg::running_var)) {
    NoGrad guard;
    Tensor rows = x.detach().reshape({images, channels, n});
    const int64_t last[] = {2}, first[] = {0};
    move_towards(a[arg::running_mean], mean(mean(rows, last), first), a[arg::momentum]);
    move_towards(a[arg::running_var], mean(var(rows, last, 1), first), a[arg::momentum]);
  }
  return normalized_channels("instance_norm", x, channels, a.optional(arg::weight), a.optional(arg::bias), a[arg::eps]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "instance_norm(Tensor input, Tensor? running_mean=None, Tensor? running_var=None, Tensor? weight=None, Tensor? "
        "bias=None, bool use_input_stats=True, float momentum=0.1, float eps=1e-05) -> Tensor",
    .doc =
        "(x - mean) / sqrt(variance + eps) over the positions of each image and channel of [N, C, ...] or [C, ...] with "
        "running statistics in the place of the input's unless use_input_stats, which moves them by momentum. (Ulyanov et al. "
        "2016.)",
    .kind = OpKind::composite,
    .low = 0.5,
    .high = 2,
    .samples =
        "instance_norm(randn(2, 3, 4))\n"
        "instance_norm(randn(2, 3, 2, 2), None, None, randn(3), randn(3))\n"
        "instance_norm(randn(2, 3, 4), randn(3), rand(3), randn(3), randn(3), False)",
    .bad = "instance_norm(zeros(2, 3)) => instance_norm: one value per channel has no variance: input is f32[2, 3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::instance_norm_op
