// Elementwise optimizers: one update rule per optimizer, one fused pass over memory for all (fused.h), whatever the formats of
// parameter, gradient and states. The rules stand in rules_kernel.cpp, what they mean in optimizers/.
#pragma once
#include "base/parallel.h"
#include "loops/operand.h"
#include "optim/adamw_kernel.h"

namespace dyadic::inline v1 {

inline constexpr int kMaxStates = 3, kMaxConstants = 8;

// A scaled state is given by its storage and geometry; its blocks divide kRuleTile.
struct StateArray {
  void* data = nullptr;
  const Format* format = nullptr;
  Geometry geometry{};
};
struct RuleArrays {
  Target param;  // any float of at least 8 bits; f64 computes in f64, the others in f32
  Source grad;
  StateArray state[kMaxStates];
  Target rest{};  // what rounding the parameter left, a float; may be absent. Rules see parameter plus rest
  int64_t n = 0;
};

// Before a rule sees it, the gradient becomes grad_scale * grad + coupled * p; to the rule's step decoupled * p is added.
struct RuleStep {
  double constants[kMaxConstants]{};
  double grad_scale = 1, coupled = 0, decoupled = 0;
  Round rounding;        // of the parameter; index is that of the first element
  Round state_rounding;  // of states in scalar formats
};
struct RuleResult {
  UpdateCount count;
  double param_squares = 0, step_squares = 0;  // of rules that measure, in an order that depends on n alone
};

struct Rule {
  int states;
  RuleResult (*run)(const RuleArrays& arrays, const RuleStep& step);
};

inline constexpr int64_t kRuleTile = 1024;

struct RuleTable {
  Rule sgd, sgd_momentum, adagrad;
  Rule rmsprop, rmsprop_momentum, rmsprop_centered, rmsprop_centered_momentum;
  Rule adam, adam_amsgrad, adamax, nadam, radam, adadelta;
  Rule lion, rprop, asgd, schedule_free;
  Rule lamb_measure, lamb_apply, gradient_measure;  // measure: the parameter stays, its norm and the step's are taken
};

}  // namespace dyadic::inline v1

DY_KERNEL(RuleTable, rule_table)
