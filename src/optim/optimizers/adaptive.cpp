// Steps scaled by the gradients' own size, without Adam's average: Adagrad, RMSprop, Adadelta.
#include "optim/optimizers/optimizers.h"

namespace dyadic::inline v1::optim {
namespace {

void adagrad(Update& u) {
  u.run(rule_table().adagrad, {{"sum", Sign::positive, u.number("initial_accumulator_value")}},
        {u.lr / (1 + double(u.t - 1) * u.number("lr_decay")), u.number("eps")}, Decay::coupled);
}

void rmsprop(Update& u) {
  const RuleTable& t = rule_table();
  const double alpha = u.number("alpha"), momentum = u.number("momentum");
  const std::initializer_list<double> c = {alpha, 1 - alpha, u.number("eps"), u.lr, momentum};
  const StateRef square{"square_avg", Sign::positive}, average{"grad_avg"}, buffer{"momentum_buffer"};
  if (u.flag("centered") && momentum > 0)
    u.run(t.rmsprop_centered_momentum, {square, average, buffer}, c, Decay::coupled);
  else if (u.flag("centered"))
    u.run(t.rmsprop_centered, {square, average}, c, Decay::coupled);
  else if (momentum > 0)
    u.run(t.rmsprop_momentum, {square, buffer}, c, Decay::coupled);
  else
    u.run(t.rmsprop, {square}, c, Decay::coupled);
}

void adadelta(Update& u) {
  const double rho = u.number("rho");
  u.run(rule_table().adadelta, {{"square_avg", Sign::positive}, {"acc_delta", Sign::positive}},
        {rho, 1 - rho, u.number("eps"), u.lr}, Decay::coupled);
}

constexpr OptimizerDef kAdaptiveOptimizers[] = {
    {"Adagrad(float lr=0.01, float lr_decay=0, float weight_decay=0, float initial_accumulator_value=0, float eps=1e-10, *, "
     "bool "
     "maximize=False)",
     "s += g^2, p -= lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps). (Duchi et al. 2011.)", adagrad},
    {"RMSprop(float lr=0.01, float alpha=0.99, float eps=1e-8, float weight_decay=0, float momentum=0, bool centered=False, *, "
     "bool "
     "maximize=False)",
     "v = alpha v + (1 - alpha) g^2, p -= lr g / (sqrt(v) + eps); centered: of v less the square of the mean gradient. (Hinton "
     "2012.)",
     rmsprop},
    {"Adadelta(float lr=1.0, float rho=0.9, float eps=1e-6, float weight_decay=0, *, bool maximize=False)",
     "d = sqrt(a + eps) / sqrt(v + eps) g, p -= lr d, with running means v of g^2 and a of d^2. (Zeiler 2012.)", adadelta},
};

}  // namespace

std::span<const OptimizerDef> adaptive_optimizers() { return kAdaptiveOptimizers; }

}  // namespace dyadic::inline v1::optim
