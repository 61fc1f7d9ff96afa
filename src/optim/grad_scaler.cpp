#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "dyadic/optim.h"
#include "optim/adamw_kernel.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::optim {

namespace {

// In place; whether all are finite.
bool unscale(const Tensor& grad, double factor) {
  NoGrad guard;
  const DType d = grad.dtype();
  if (grad.is_contiguous() && (d == f32 || d == bf16 || d == f16)) {
    bump(grad);
    return adamw_kernel().unscale({grad.impl()->data(), d.format()}, grad.numel(), factor);
  }
  grad.mul_(factor);
  return all(isfinite(grad)).item<bool>();
}

}  // namespace

Tensor GradScaler::scale(const Tensor& loss) const {
  return enabled_ ? mul(loss, full({}, scale_, loss.dtype(), loss.device())) : loss;
}

void GradScaler::unscale_(Optimizer& optimizer) {
  if (!enabled_) return;
  DY_CHECK(!unscaled_, "GradScaler: unscale_ was already called since the last update; call update() once per step");
  unscaled_ = true;
  found_inf_ = false;
  for (ParamGroup& g : optimizer.groups())
    for (auto& [name, p] : g.params)
      if (Tensor d = p.grad(); d.defined() && !d.is_meta()) {
        if (!unscale(d, 1 / scale_) && !found_inf_) {
          found_inf_ = true;
          first_bad_ = name;
        }
      }
}

bool GradScaler::step(Optimizer& optimizer, double grad_scale) {
  if (enabled_ && !unscaled_) unscale_(optimizer);
  if (enabled_ && found_inf_) {
    ++skipped_;
    DY_CHECK(++skipped_in_a_row_ < 100,
             "GradScaler: 100 steps in a row were skipped: the gradient of {} is not finite even at a scale of {}; lower the "
             "learning rate",
             first_bad_, scale_);
    return false;
  }
  skipped_in_a_row_ = 0;
  optimizer.step(grad_scale);
  return true;
}

void GradScaler::update() {
  if (!enabled_) return;
  if (found_inf_) {
    scale_ *= backoff_factor;
    growth_ = 0;
  } else if (++growth_ == growth_interval) {
    scale_ *= growth_factor;
    growth_ = 0;
  }
  unscaled_ = found_inf_ = false;
}

void GradScaler::load_state(double scale, int64_t growth_tracker, int64_t skipped) {
  scale_ = scale;
  growth_ = growth_tracker;
  skipped_ = skipped;
}

double WarmupCosine::operator()(int64_t step) const {
  if (step < warmup) return peak * double(step + 1) / double(warmup + 1);
  if (step >= total) return floor;
  double t = double(step - warmup) / double(std::max<int64_t>(total - warmup, 1));
  return floor + 0.5 * (1 + std::cos(M_PI * t)) * (peak - floor);
}

}  // namespace dyadic::inline v1::optim
