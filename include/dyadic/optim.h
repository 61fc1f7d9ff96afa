// Optimizers and the gradient scaler of f16 training.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dyadic/nn.h"

namespace dyadic::inline v1::optim {

struct UpdateMeter {    // of all steps since the last clear
  int64_t nonzero = 0;  // parameter elements whose step was not zero
  int64_t lost = 0;     // those among them whose stored value did not change: the step rounded to nothing
  double share() const { return nonzero ? double(lost) / double(nonzero) : 0; }
};

struct AdamWOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
  DType state = f32;                 // f32, or dynamic8: blockwise 8-bit states for tensors of at least 4096 elements
  bool stochastic_rounding = false;  // of bf16 or f16 parameters
  uint64_t seed = 0;                 // of the stochastic rounding
};

struct ParamGroup {
  nn::NamedTensors params;
  AdamWOptions options;
};

// AdamW (Loshchilov and Hutter 2019) as PyTorch computes it, one pass over memory whatever the state's format. 8-bit states are
// blockwise dynamic ones (Dettmers et al. 2022): 256 elements per block, tensors named in `keep32` and small ones stay in f32.
class AdamW {
 public:
  AdamW(nn::NamedTensors params, AdamWOptions options = {}, std::vector<std::string> keep32 = {});
  explicit AdamW(std::vector<ParamGroup> groups, std::vector<std::string> keep32 = {});

  // Parameters without a gradient are left alone. `grad_scale` multiplies gradients on the way (clipping, unscaling).
  void step(double grad_scale = 1);
  void zero_grad(bool set_to_none = true);
  void set_lr(double lr);  // of all groups
  int64_t steps() const { return step_; }
  std::vector<ParamGroup>& groups() { return groups_; }
  const UpdateMeter& updates() const { return meter_; }
  void clear_updates() { meter_ = {}; }
  void set_updates(UpdateMeter m) { meter_ = m; }  // of a run that is resumed

  // By parameter name: "exp_avg.<name>", "exp_avg_sq.<name>"; `step` beside them.
  nn::NamedTensors state_dict();
  void load_state_dict(const nn::NamedTensors& state, int64_t step);

 private:
  struct State {
    Tensor m, v;
  };
  State& state_of(const std::string& name, const Tensor& p, const AdamWOptions& o);
  std::vector<ParamGroup> groups_;
  std::vector<std::string> keep32_;
  std::map<std::string, State> states_;
  int64_t step_ = 0;
  UpdateMeter meter_;
};

// Dynamic loss scaling: gradients of f16 are kept in range by multiplying the loss, and a step whose gradients are not finite
// is skipped and lowers the scale. (PyTorch's amp.GradScaler.)
class GradScaler {
 public:
  double growth_factor = 2, backoff_factor = 0.5;
  int64_t growth_interval = 2000;
  explicit GradScaler(double init_scale = 65536, bool enabled = true) : scale_(init_scale), enabled_(enabled) {}

  Tensor scale(const Tensor& loss) const;
  // Divides the gradients by the scale, once per step; finds out whether they are finite.
  void unscale_(AdamW& optimizer);
  // optimizer.step() unless a gradient is infinite or NaN. Unscales first if that has not been done.
  bool step(AdamW& optimizer, double grad_scale = 1);
  void update();  // grows or backs off
  double get_scale() const { return enabled_ ? scale_ : 1; }
  int64_t skipped() const { return skipped_; }
  int64_t growth_tracker() const { return growth_; }
  void load_state(double scale, int64_t growth_tracker, int64_t skipped);

 private:
  double scale_;
  bool enabled_, unscaled_ = false, found_inf_ = false;
  int64_t growth_ = 0, skipped_ = 0, skipped_in_a_row_ = 0;
  std::string first_bad_;
};

// The 2-norm of all gradients, and the factor that brings it down to max_norm (1 if it is smaller): for step(grad_scale).
double grad_norm(const nn::NamedTensors& params);
inline double clip_factor(double norm, double max_norm) { return norm > max_norm ? max_norm / (norm + 1e-6) : 1; }

// lr(step) of a linear warm-up to `peak` followed by a cosine down to `floor` at `total`. (nanoGPT's schedule.)
struct WarmupCosine {
  double peak = 1e-3, floor = 1e-4;
  int64_t warmup = 100, total = 1000;
  double operator()(int64_t step) const;
};

}  // namespace dyadic::inline v1::optim
