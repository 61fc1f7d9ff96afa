// The update rules as lambdas: p the parameter, g the gradient (decayed, where decay is coupled), s the states, c the constants
// that optimizers/ computes in double. What a rule returns is taken from the parameter.
#pragma once
#include "base/simd/simd.h"

namespace dyadic::DY_ISA {

DY_INLINE auto lerp_to(auto from, auto to, auto weight) { return fma(to - from, weight, from); }

// c: lr
constexpr auto kSgd = [](auto, auto g, auto*, const auto* c) { return c[0] * g; };

// s: momentum_buffer. c: of the buffer and of g in the new buffer; of g and of the buffer in the step.
constexpr auto kMomentum = [](auto, auto g, auto* s, const auto* c) {
  s[0] = fma(c[0], s[0], c[1] * g);
  return fma(c[3], s[0], c[2] * g);
};

// s: sum. c: lr / (1 + (t - 1) lr_decay), eps
constexpr auto kAdagrad = [](auto, auto g, auto* s, const auto* c) {
  s[0] = fma(g, g, s[0]);
  return c[0] * g / (sqrt(s[0]) + c[1]);
};

// s: square_avg, then grad_avg, then momentum_buffer. c: alpha, 1 - alpha, eps, lr, momentum
template <bool kCentered, bool kBuffered>
constexpr auto kRmsprop = [](auto, auto g, auto* s, const auto* c) {
  s[0] = fma(c[0], s[0], c[1] * g * g);
  auto power = s[0];
  if constexpr (kCentered) {
    s[1] = lerp_to(s[1], g, c[1]);
    power = s[0] - s[1] * s[1];
  }
  const auto scaled = g / (sqrt(power) + c[2]);
  if constexpr (!kBuffered) return c[3] * scaled;
  auto& buffer = s[kCentered ? 2 : 1];
  buffer = fma(c[4], buffer, scaled);
  return c[3] * buffer;
};

// s: exp_avg, exp_avg_sq, max_exp_avg_sq. c: 1 - beta1, beta2, 1 - beta2, lr / bias1, 1 / sqrt(bias2), eps
template <bool kAmsgrad>
constexpr auto kAdam = [](auto, auto g, auto* s, const auto* c) {
  s[0] = lerp_to(s[0], g, c[0]);
  s[1] = fma(c[1], s[1], c[2] * g * g);
  auto power = s[1];
  if constexpr (kAmsgrad) power = s[2] = max(s[2], s[1]);
  return c[3] * s[0] / fma(sqrt(power), c[4], c[5]);
};

// s: exp_avg, exp_inf. c: 1 - beta1, beta2, eps, lr / bias1
constexpr auto kAdamax = [](auto, auto g, auto* s, const auto* c) {
  s[0] = lerp_to(s[0], g, c[0]);
  s[1] = max(c[1] * s[1], abs(g) + c[2]);
  return c[3] * s[0] / s[1];
};

// s: exp_avg, exp_avg_sq. c: 1 - beta1, beta2, 1 - beta2, of g, of exp_avg, 1 / sqrt(bias2), eps
constexpr auto kNadam = [](auto, auto g, auto* s, const auto* c) {
  s[0] = lerp_to(s[0], g, c[0]);
  s[1] = fma(c[1], s[1], c[2] * g * g);
  return fma(c[4], s[0], c[3] * g) / fma(sqrt(s[1]), c[5], c[6]);
};

// s: exp_avg, exp_avg_sq. c: 1 - beta1, beta2, 1 - beta2, lr / bias1, rectification (0: not yet rectified), eps
constexpr auto kRadam = [](auto, auto g, auto* s, const auto* c) {
  s[0] = lerp_to(s[0], g, c[0]);
  s[1] = fma(c[1], s[1], c[2] * g * g);
  const auto plain = c[3] * s[0];
  return select(c[4] > 0, plain * c[4] / (sqrt(s[1]) + c[5]), plain);
};

// s: square_avg, acc_delta. c: rho, 1 - rho, eps, lr
constexpr auto kAdadelta = [](auto, auto g, auto* s, const auto* c) {
  s[0] = fma(c[0], s[0], c[1] * g * g);
  const auto delta = sqrt(s[1] + c[2]) / sqrt(s[0] + c[2]) * g;
  s[1] = fma(c[0], s[1], c[1] * delta * delta);
  return c[3] * delta;
};

// s: exp_avg. c: 1 - beta1, 1 - beta2, lr
constexpr auto kLion = [](auto, auto g, auto* s, const auto* c) {
  const auto direction = lerp_to(s[0], g, c[0]);
  s[0] = lerp_to(s[0], g, c[1]);
  return c[2] * sign(direction);
};

// s: prev, step_size. c: etaminus, etaplus, the least and the largest step
constexpr auto kRprop = [](auto, auto g, auto* s, const auto* c) {
  const auto agreement = g * s[0];
  const auto factor = select(agreement > 0, c[1], select(agreement < 0, c[0], decltype(g)(1)));
  s[1] = min(max(s[1] * factor, c[2]), c[3]);
  s[0] = select(agreement < 0, decltype(g)(0), g);
  return sign(s[0]) * s[1];
};

// s: ax, the average. c: eta, lambd eta, mu
constexpr auto kAsgd = [](auto p, auto g, auto* s, const auto* c) {
  const auto step = fma(c[1], p, c[0] * g);
  const auto next = p - step;
  s[0] = select(c[2] == 1, next, lerp_to(s[0], next, c[2]));
  return step;
};

// s: z, exp_avg_sq; the parameter is y. c: beta2, 1 - beta2, 1 / sqrt(bias2), eps, weight decay, lr, how far y goes to z, of
// the scaled gradient in y
constexpr auto kScheduleFree = [](auto p, auto g, auto* s, const auto* c) {
  s[1] = fma(c[0], s[1], c[1] * g * g);
  const auto scaled = fma(c[4], p, g / fma(sqrt(s[1]), c[2], c[3]));
  const auto step = fma(c[6], p - s[0], c[7] * scaled);
  s[0] = s[0] - c[5] * scaled;
  return step;
};

// s: exp_avg, exp_avg_sq. c: 1 - beta1, beta2, 1 - beta2, 1 / bias1, 1 / sqrt(bias2), eps, weight decay, lr times the trust
// ratio
constexpr auto lamb_direction = [](auto p, const auto* s, const auto* c) {
  return fma(c[6], p, c[3] * s[0] / fma(sqrt(s[1]), c[4], c[5]));
};
constexpr auto kLambMeasure = [](auto p, auto g, auto* s, const auto* c) {
  s[0] = lerp_to(s[0], g, c[0]);
  s[1] = fma(c[1], s[1], c[2] * g * g);
  return lamb_direction(p, s, c);
};
constexpr auto kLambApply = [](auto p, auto, auto* s, const auto* c) { return c[7] * lamb_direction(p, s, c); };

constexpr auto kGradient = [](auto, auto g, auto*, const auto*) { return g; };

}  // namespace dyadic::DY_ISA
