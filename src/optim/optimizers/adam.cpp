// Adam and what follows it: AdamW, Adamax, NAdam, RAdam, LAMB, schedule-free AdamW.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "optim/optimizers/optimizers.h"

namespace dyadic::inline v1::optim {
namespace {

constexpr StateRef kMean{"exp_avg"}, kPower{"exp_avg_sq", Sign::positive}, kMaxPower{"max_exp_avg_sq", Sign::positive};

void adam_step(Update& u, Decay how) {
  const bool amsgrad = u.flag("amsgrad");
  if (!amsgrad && (how != Decay::coupled || u.decay == 0) && u.run_adamw(u.decay)) return;
  const std::initializer_list<double> c = {1 - u.beta(0),  u.beta(1), 1 - u.beta(1), u.lr / u.bias(0), 1 / std::sqrt(u.bias(1)),
                                           u.number("eps")};
  if (amsgrad)
    u.run(rule_table().adam_amsgrad, {kMean, kPower, kMaxPower}, c, how);
  else
    u.run(rule_table().adam, {kMean, kPower}, c, how);
}
Decay decay_of(const Update& u) { return u.flag("decoupled_weight_decay") ? Decay::decoupled : Decay::coupled; }
void adam(Update& u) { adam_step(u, decay_of(u)); }
void adamw(Update& u) { adam_step(u, Decay::decoupled); }

void adamax(Update& u) {
  u.run(rule_table().adamax, {kMean, {"exp_inf", Sign::positive}},
        {1 - u.beta(0), u.beta(1), u.number("eps"), u.lr / u.bias(0)}, Decay::coupled);
}

void nadam(Update& u) {
  auto momentum_at = [&](double t) { return u.beta(0) * (1 - 0.5 * std::pow(0.96, t * u.number("momentum_decay"))); };
  const double mu = momentum_at(double(u.t)), next = momentum_at(double(u.t + 1));
  double& product = u.remembered("mu_product", 1);
  product = float(product) * float(mu);  // f32, as PyTorch keeps it
  u.run(rule_table().nadam, {kMean, kPower},
        {1 - u.beta(0), u.beta(1), 1 - u.beta(1), u.lr * (1 - mu) / (1 - product), u.lr * next / (1 - product * next),
         1 / std::sqrt(u.bias(1)), u.number("eps")},
        decay_of(u));
}

void radam(Update& u) {
  const double beta2 = u.beta(1), limit = 2 / (1 - beta2) - 1, t = double(u.t);
  const double length = limit - 2 * t * std::pow(beta2, t) / u.bias(1);  // of the approximated simple moving average
  double rectification = 0;
  if (length > 5)
    rectification =
        std::sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)) * std::sqrt(u.bias(1));
  u.run(rule_table().radam, {kMean, kPower},
        {1 - u.beta(0), beta2, 1 - beta2, u.lr / u.bias(0), rectification, u.number("eps")}, decay_of(u));
}

void lamb(Update& u) {
  const double c[] = {1 - u.beta(0),   u.beta(1), 1 - u.beta(1), 1 / u.bias(0), 1 / std::sqrt(u.bias(1)),
                      u.number("eps"), u.decay};
  const RuleResult r = u.measure(rule_table().lamb_measure, {kMean, kPower}, {c[0], c[1], c[2], c[3], c[4], c[5], c[6]});
  const double p = std::sqrt(r.param_squares), step = std::sqrt(r.step_squares);
  const double trust = p > 0 && step > 0 ? p / step : 1;
  u.run(rule_table().lamb_apply, {kMean, kPower}, {c[0], c[1], c[2], c[3], c[4], c[5], c[6], u.lr * trust}, Decay::none);
}

// (Defazio et al. 2024.) The parameter is y, between z, where steps go, and x, the average.
void schedule_free(Update& u) {
  const double warmup = u.number("warmup_steps"), t = double(u.t);
  const double lr = warmup > 0 ? u.lr * std::min(1.0, t / warmup) : u.lr;
  double &largest = u.remembered("lr_max", 0), &sum = u.remembered("weight_sum", 0), &averaged = u.remembered("averaged", 0);
  DY_CHECK(averaged == 0, "ScheduleFreeAdamW: step() while parameters are the average; call train() first");
  largest = std::max(largest, lr);
  const double weight = std::pow(t, u.number("r")) * std::pow(largest, u.number("weight_lr_power"));
  sum += weight;
  const double towards = sum > 0 ? weight / sum : 0;
  if (!u.find("z")) u.own("z", u.p.detach().to(u.p.dtype() == f64 ? f64 : f32));
  u.run(rule_table().schedule_free, {{"z"}, kPower},
        {u.beta(1), 1 - u.beta(1), 1 / std::sqrt(u.bias(1)), u.number("eps"), u.decay, lr, towards,
         lr * (1 - u.beta(0) * (1 - towards))},
        Decay::none);
}

constexpr OptimizerDef kAdamOptimizers[] = {
    {"AdamW(float lr=1e-3, float[] betas=(0.9, 0.999), float eps=1e-8, float weight_decay=0.01, bool amsgrad=False, *, bool "
     "maximize=False)",
     "Adam with decoupled weight decay. (Loshchilov and Hutter 2019.)", adamw},
    {"Adam(float lr=1e-3, float[] betas=(0.9, 0.999), float eps=1e-8, float weight_decay=0, bool amsgrad=False, *, bool "
     "maximize=False, bool decoupled_weight_decay=False)",
     "m and v: running means of g and g^2; p -= lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps). (Kingma and Ba "
     "2015.)",
     adam},
    {"Adamax(float lr=2e-3, float[] betas=(0.9, 0.999), float eps=1e-8, float weight_decay=0, *, bool maximize=False)",
     "Adam with a decaying maximum of |g| in place of sqrt(v). (Kingma and Ba 2015.)", adamax},
    {"NAdam(float lr=2e-3, float[] betas=(0.9, 0.999), float eps=1e-8, float weight_decay=0, float momentum_decay=4e-3, bool "
     "decoupled_weight_decay=False, *, bool maximize=False)",
     "Adam with Nesterov's momentum. (Dozat 2016.)", nadam, nullptr, "mu_product"},
    {"RAdam(float lr=1e-3, float[] betas=(0.9, 0.999), float eps=1e-8, float weight_decay=0, bool "
     "decoupled_weight_decay=False, *, "
     "bool maximize=False)",
     "Adam whose first steps, while v is uncertain, are plain ones. (Liu et al. 2020.)", radam},
    {"LAMB(float lr=1e-3, float[] betas=(0.9, 0.999), float eps=1e-6, float weight_decay=0.01, *, bool maximize=False)",
     "AdamW's direction r, per tensor scaled to the parameter's norm: p -= lr |p| / |r| r. (You et al. 2020.)", lamb},
    {"ScheduleFreeAdamW(float lr=2.5e-3, float[] betas=(0.9, 0.999), float eps=1e-8, float weight_decay=0, float "
     "warmup_steps=0, float "
     "r=0, float weight_lr_power=2, *, bool maximize=False)",
     "AdamW without a schedule: gradients are taken between the iterate and its average. train(False) before evaluation, "
     "train() "
     "after. (Defazio et al. 2024.)",
     schedule_free, nullptr, "lr_max weight_sum averaged"},
};

}  // namespace

std::span<const OptimizerDef> adam_optimizers() { return kAdamOptimizers; }

void swap_schedule_free(const Tensor& p, ParamState& state, double beta1, bool train) {
  double& averaged = state.numbers["averaged"];
  if (averaged == (train ? 0 : 1) || p.is_meta()) return;
  averaged = train ? 0 : 1;
  NoGrad guard;
  const Tensor z = state.tensors.at("z").view(p.sizes());
  p.detach().copy_(lerp(p.detach().to(z.dtype()), z, train ? 1 - beta1 : 1 - 1 / beta1));
}

}  // namespace dyadic::inline v1::optim
