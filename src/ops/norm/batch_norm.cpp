#include <algorithm>

#include "ops/norm/norm.h"

namespace dyadic::inline v1::ops::batch_norm_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::input];
  check_float("batch_norm", x, "input");
  DY_CHECK(x.dim() >= 2, "batch_norm: the input has no channels: input is {}", describe(x));
  const int64_t channels = x.size(1), n = x.numel() / std::max<int64_t>(channels, 1);
  const auto check = [&](TensorArg h, const char* name) {
    DY_CHECK(!a.has(h) || (a[h].dim() == 1 && a[h].size(0) == channels), "batch_norm: {} does not fit: input is {}, it is {}",
             name, describe(x), describe(a[h]));
  };
  check(arg::running_mean, "running_mean");
  check(arg::running_var, "running_var");
  check(arg::weight, "weight");
  check(arg::bias, "bias");
  if (!a[arg::training]) {
    DY_CHECK(a.has(arg::running_mean) && a.has(arg::running_var),
             "batch_norm: statistics are missing: evaluation takes running_mean and running_var");
    Tensor rstd = rsqrt(add(a[arg::running_var], a[arg::eps]));
    Tensor scale = a.has(arg::weight) ? mul(rstd, a[arg::weight]) : rstd, shift = neg(mul(a[arg::running_mean], scale));
    if (a.has(arg::bias)) shift = add(shift, a[arg::bias]);
    return add(mul(x, per_channel(scale, x.dim())), per_channel(shift, x.dim())).to(plain(x));
  }
  if (x.numel() == 0) {  // nothing to learn statistics from
    const Tensor y = a.has(arg::weight) ? mul(x, per_channel(a[arg::weight], x.dim())) : x.clone();
    return a.has(arg::bias) ? add(y, per_channel(a[arg::bias], x.dim())).to(plain(x)) : y.to(plain(x));
  }
  DY_CHECK_AS(ValueError, n > 1, "batch_norm: one value per channel has no variance in training: input is {}", describe(x));
  Tensor statistics[2];
  const Tensor y =
      normalized_channels("batch_norm", x, 0, a.optional(arg::weight), a.optional(arg::bias), a[arg::eps], statistics);
  if (a.has(arg::running_mean) && a.has(arg::running_var)) {
    NoGrad guard;
    move_towards(a[arg::running_mean], statistics[0], a[arg::momentum]);
    const Tensor variance = sub(reciprocal(square(statistics[1])), a[arg::eps]);
    move_towards(a[arg::running_var], mul(variance, double(n) / double(n - 1)), a[arg::momentum]);
  }
  return y;
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, bool "
        "training=False, float momentum=0.1, float eps=1e-05) -> Tensor",
    .doc =
        "(x - mean) / sqrt(variance + eps) per channel of [N, C, ...], times weight [C] plus bias [C]. Training takes the "
        "batch's statistics (variance over n) and moves the running ones by momentum (variance over n - 1); else the running "
        "ones serve. (Ioffe and Szegedy 2015.)",
    .kind = OpKind::composite,
    .low = 0.5,
    .high = 2,
    .samples =
        "batch_norm(randn(3, 2), None, None, randn(2), randn(2), True)\n"
        "batch_norm(randn(2, 3, 4), None, None, None, None, True)\n"
        "batch_norm(randn(2, 3, 2, 2), randn(3), rand(3), randn(3), randn(3), False)",
    .bad =
        "batch_norm(zeros(1, 3), None, None, None, None, True) => batch_norm: one value per channel has no variance in "
        "training: input is f32[1, 3]\n"
        "batch_norm(zeros(2, 3), zeros(2), ones(3)) => batch_norm: running_mean does not fit: input is f32[2, 3], it is f32[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::batch_norm_op
