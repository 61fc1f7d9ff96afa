#include <algorithm>

#include "ops/norm/norm.h"

namespace dyadic::inline v1::ops::batch_norm_op {
namespace {

constexpr const char* kNames[] = {"input", "running_mean", "running_var", "weight", "bias"};

Tensor compose(const Arg* args) {
  const Frame a(args);
  const Tensor& x = a.tensor(0);
  check_float("batch_norm", x, "input");
  DY_CHECK(x.dim() >= 2, "batch_norm: the input has no channels: input is {}", describe(x));
  const int64_t channels = x.size(1), n = x.numel() / std::max<int64_t>(channels, 1);
  for (int i = 1; i < 5; ++i)
    DY_CHECK(!a.has(i) || (a.tensor(i).dim() == 1 && a.tensor(i).size(0) == channels),
             "batch_norm: {} does not fit: input is {}, it is {}", kNames[i], describe(x), describe(a.tensor(i)));
  if (!a.boolean(5)) {
    DY_CHECK(a.has(1) && a.has(2), "batch_norm: statistics are missing: evaluation takes running_mean and running_var");
    Tensor rstd = rsqrt(add(a.tensor(2), a.real(7)));
    Tensor scale = a.has(3) ? mul(rstd, a.tensor(3)) : rstd, shift = neg(mul(a.tensor(1), scale));
    if (a.has(4)) shift = add(shift, a.tensor(4));
    return add(mul(x, per_channel(scale, x.dim())), per_channel(shift, x.dim())).to(plain(x));
  }
  DY_CHECK_AS(ValueError, n > 1, "batch_norm: one value per channel has no variance in training: input is {}", describe(x));
  Tensor statistics[2];
  const Tensor y = normalized_channels("batch_norm", x, 0, a.optional(3), a.optional(4), a.real(7), statistics);
  if (a.has(1) && a.has(2)) {
    NoGrad guard;
    move_towards(a.tensor(1), statistics[0], a.real(6));
    const Tensor variance = sub(reciprocal(square(statistics[1])), a.real(7));
    move_towards(a.tensor(2), mul(variance, double(n) / double(n - 1)), a.real(6));
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
