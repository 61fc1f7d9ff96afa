// Steps along the gradient: SGD, LARS, ASGD, Rprop, Lion.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "optim/optimizers/optimizers.h"

namespace dyadic::inline v1::optim {
namespace {

void momentum_step(Update& u, double lr, Decay how) {
  const double momentum = u.number("momentum"), dampening = u.number("dampening");
  const bool nesterov = u.flag("nesterov"), first = !u.find("momentum_buffer");
  u.run(rule_table().sgd_momentum, {{"momentum_buffer"}},
        {first ? 0 : momentum, first ? 1 : 1 - dampening, nesterov ? lr : 0, nesterov ? lr * momentum : lr}, how);
}
void check_nesterov(const char* who, const Options& o, const Tensor&) {
  DY_CHECK_AS(ValueError, !o.flag("nesterov") || (o.number("momentum") > 0 && o.number("dampening") == 0),
              "{}: nesterov takes a momentum above zero and no dampening: they are {} and {}", who, o.number("momentum"),
              o.number("dampening"));
}

void sgd(Update& u) {
  if (u.number("momentum") == 0)
    u.run(rule_table().sgd, {}, {u.lr}, Decay::coupled);
  else
    momentum_step(u, u.lr, Decay::coupled);
}

// lr times trust_coefficient |p| / (|g| + weight_decay |p|), 1 where either norm is zero.
void lars(Update& u) {
  const RuleResult r = u.measure(rule_table().gradient_measure, {}, {});
  const double p = std::sqrt(r.param_squares), g = std::sqrt(r.step_squares);
  const double trust = p > 0 && g > 0 ? u.number("trust_coefficient") * p / (g + u.decay * p + u.number("eps")) : 1;
  const double scale = u.scale, decay = u.decay;
  u.scale *= trust;  // the buffer remembers scaled gradients
  u.decay *= trust;
  momentum_step(u, u.lr, Decay::coupled);
  u.scale = scale;
  u.decay = decay;
}

// eta and mu are rounded to f32, as PyTorch keeps them.
void asgd(Update& u) {
  double &eta = u.remembered("eta", float(u.lr)), &mu = u.remembered("mu", 1);
  const double lambd = u.number("lambd");
  u.run(rule_table().asgd, {{"ax"}}, {eta, lambd * eta, mu}, Decay::coupled);
  eta = float(u.lr / std::pow(1 + lambd * u.lr * double(u.t), u.number("alpha")));
  mu = float(1 / std::max(1.0, double(u.t) - u.number("t0")));
}

void rprop(Update& u) {
  u.run(rule_table().rprop, {{"prev"}, {"step_size", Sign::positive, u.lr}},
        {u.number("etas", 0), u.number("etas", 1), u.number("step_sizes", 0), u.number("step_sizes", 1)}, Decay::none);
}
void check_rprop(const char* who, const Options& o, const Tensor&) {
  const double down = o.number("etas", 0), up = o.number("etas", 1);
  DY_CHECK_AS(ValueError, down > 0 && down < 1 && up > 1,
              "{}: etas are out of range: ({}, {}); the first is in (0, 1), the second above 1", who, down, up);
}

void lion(Update& u) { u.run(rule_table().lion, {{"exp_avg"}}, {1 - u.beta(0), 1 - u.beta(1), u.lr}, Decay::decoupled); }

constexpr OptimizerDef kSgdOptimizers[] = {
    {"SGD(float lr=1e-3, float momentum=0, float dampening=0, float weight_decay=0, bool nesterov=False, *, bool "
     "maximize=False)",
     "b = momentum b + (1 - dampening) g, p -= lr b; nesterov: p -= lr (g + momentum b). The first b is g.", sgd,
     check_nesterov, "", false},
    {"LARS(float lr=1e-3, float momentum=0.9, float dampening=0, float weight_decay=0, bool nesterov=False, float "
     "trust_coefficient=0.001, float eps=1e-8, *, bool maximize=False)",
     "SGD whose gradients are scaled per tensor by trust_coefficient |p| / (|g| + weight_decay |p| + eps). (You et al. 2017.)",
     lars, check_nesterov},
    {"ASGD(float lr=0.01, float lambd=1e-4, float alpha=0.75, float t0=1e6, float weight_decay=0, *, bool maximize=False)",
     "SGD with a decreasing step and an average `ax` of the parameters from step t0 on. (Polyak and Juditsky 1992.)", asgd,
     nullptr, "eta mu"},
    {"Rprop(float lr=0.01, float[] etas=(0.5, 1.2), float[] step_sizes=(1e-6, 50), *, bool maximize=False)",
     "Each element's own step, grown while its gradient keeps its sign and shrunk where it turns. (Riedmiller and Braun 1993.)",
     rprop, check_rprop},
    {"Lion(float lr=1e-4, float[] betas=(0.9, 0.99), float weight_decay=0, *, bool maximize=False)",
     "p -= lr (sign(beta1 m + (1 - beta1) g) + weight_decay p), then m = beta2 m + (1 - beta2) g. (Chen et al. 2023.)", lion},
};

}  // namespace

std::span<const OptimizerDef> sgd_optimizers() { return kSgdOptimizers; }

}  // namespace dyadic::inline v1::optim
