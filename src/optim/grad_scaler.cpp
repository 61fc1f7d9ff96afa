#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "dyadic/optim.h"
#include "optim/grad_ops.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1::optim {

namespace {

constexpr const char *kAsked = "a GradScaler is asked for its numbers", *kOthers = "a GradScaler with another's optimizer";

// A gradient was made where its parameter is used: the path is a name for parameters that were given without one.
std::string name_of(const std::string& name, const Tensor& grad) {
  const std::string path = module_path(grad.impl()->storage->module);
  return path.empty() || name.starts_with(path + ".") ? name : name + " (of " + path + ")";
}

nn::NamedTensors params_of(Optimizer& optimizer) {
  nn::NamedTensors all;
  for (ParamGroup& g : optimizer.groups()) all.insert(all.end(), g.params.begin(), g.params.end());
  return all;
}

}  // namespace

GradScaler::GradScaler(GradScalerOptions o)
    : growth_factor(o.growth_factor),
      backoff_factor(o.backoff_factor),
      growth_interval(o.growth_interval),
      max_skips(o.max_skips),
      scale_(o.init_scale),
      enabled_(o.enabled) {
  DY_CHECK_AS(ValueError, !enabled_ || growth_factor > 1, "GradScaler: the growth factor must be > 1.0: it is {}",
              growth_factor);
  DY_CHECK_AS(ValueError, !enabled_ || backoff_factor < 1, "GradScaler: the backoff factor must be < 1.0: it is {}",
              backoff_factor);
}

GradScaler::~GradScaler() { structure_changed(); }

Tensor GradScaler::scale(const Tensor& loss) const {
  if (!enabled_) return loss;
  if (!t_step_watcher || !loss.device().is_cpu()) return mul(loss, full({}, scale_, f32, loss.device()));
  const Tensor factor = make_tensor({}, f32, cpu);
  *static_cast<float*>(factor.impl()->storage->data) = float(scale_);
  t_step_watcher->number("a GradScaler's scale", &scale_, factor);
  return mul(loss, factor);
}
std::vector<Tensor> GradScaler::scale(std::span<const Tensor> losses) const {
  std::vector<Tensor> out;
  for (const Tensor& t : losses) out.push_back(scale(t));
  return out;
}

void GradScaler::unscale_(const void* optimizer, const nn::NamedTensors& params) {
  if (!enabled_) return;
  note_refusal(kOthers);
  Seen& seen = seen_[optimizer];
  DY_CHECK(!seen.stepped,
           "GradScaler: unscale_() comes before step(), and this optimizer has made its step; update() ends the iteration");
  DY_CHECK(
      !seen.unscaled,
      "GradScaler: unscale_() a second time: this optimizer's gradients are unscaled already; update() ends the iteration");
  seen.unscaled = true;
  std::vector<std::string> names;
  std::vector<Tensor> grads;
  for (auto& [name, p] : params)
    if (Tensor d = p.grad(); d.defined()) names.push_back(name), grads.push_back(d);
  const int64_t bad = grad_unscale(grads, 1 / scale_);
  if (bad >= 0 && !std::exchange(seen.found_inf, true)) first_bad_ = name_of(names[size_t(bad)], grads[size_t(bad)]);
}

bool GradScaler::may_step(const void* optimizer, const nn::NamedTensors& params) {
  if (!enabled_) return true;
  note_refusal(kOthers);
  Seen& seen = seen_[optimizer];
  DY_CHECK(!seen.stepped, "GradScaler: step() a second time for this optimizer; call update() after the steps of an iteration");
  if (!seen.unscaled) unscale_(optimizer, params);
  seen.stepped = true;
  skipped_ += seen.found_inf;
  return !seen.found_inf;
}

void GradScaler::unscale_(Optimizer& optimizer) {
  const StepPart part("unscale_", [this, &optimizer] { unscale_(optimizer); }, this, &optimizer);
  unscale_(&optimizer, params_of(optimizer));
}
// A part that decides anew each time.
Lazy<bool> GradScaler::step(Optimizer& optimizer, double grad_scale) {
  const auto again = [this, &optimizer, grad_scale] { step(optimizer, grad_scale); };
  const StepPart part("a GradScaler's step", again, this, &optimizer, grad_scale);
  if (!may_step(&optimizer, params_of(optimizer))) return false;
  optimizer.step(grad_scale);
  return true;
}

void GradScaler::skip(Optimizer& optimizer) {
  note_refusal("a step that the program has a GradScaler skip");
  if (Seen& seen = seen_[&optimizer]; enabled_ && !std::exchange(seen.found_inf, true)) first_bad_ = "another process";
}

void GradScaler::update() {
  if (!enabled_) return;
  const StepPart part("a GradScaler's update", [this] { update(); }, this);
  DY_CHECK(!seen_.empty(),
           "GradScaler: update() without a step(); the order is scale(loss).backward(), step(optimizer), update()");
  const bool found = std::any_of(seen_.begin(), seen_.end(), [](auto& s) { return s.second.found_inf; });
  seen_.clear();
  if (found) {
    scale_ *= backoff_factor;
    growth_ = 0;
    DY_CHECK(++skipped_in_a_row_ < max_skips,
             "GradScaler: {} steps in a row were skipped: the gradient of {} is not finite even at a scale of {}; lower the "
             "learning rate, or look for its cause with Anomaly",
             skipped_in_a_row_, first_bad_, scale_ / backoff_factor);
    return;
  }
  skipped_in_a_row_ = 0;
  if (++growth_ == growth_interval) {
    scale_ *= growth_factor;
    growth_ = 0;
  }
}
void GradScaler::update(double new_scale) {
  if (!enabled_) return;
  const StepPart part("a GradScaler's update", [this, new_scale] { update(new_scale); }, this, new_scale);
  scale_ = new_scale;
  seen_.clear();
}

double GradScaler::get_scale() const {
  note_refusal(kAsked);
  return enabled_ ? scale_ : 1;
}
int64_t GradScaler::skipped() const {
  note_refusal(kAsked);
  return skipped_;
}
int64_t GradScaler::skipped_in_a_row() const {
  note_refusal(kAsked);
  return skipped_in_a_row_;
}
int64_t GradScaler::growth_tracker() const {
  note_refusal(kAsked);
  return growth_;
}

void GradScaler::load_state(double scale, int64_t growth_tracker, int64_t skipped, int64_t skipped_in_a_row) {
  scale_ = scale;
  growth_ = growth_tracker;
  skipped_ = skipped;
  skipped_in_a_row_ = skipped_in_a_row;
  seen_.clear();
}

double WarmupCosine::operator()(int64_t step) const {
  if (step < warmup) return peak * double(step + 1) / double(warmup + 1);
  if (step >= total) return floor;
  double t = double(step - warmup) / double(std::max<int64_t>(total - warmup, 1));
  return floor + 0.5 * (1 + std::cos(M_PI * t)) * (peak - floor);
}

}  // namespace dyadic::inline v1::optim
