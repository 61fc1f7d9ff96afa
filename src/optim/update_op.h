// What an optimizer does to one parameter, as an op: "adamw_step(Tensor(a!) param, Tensor grad, Tensor numbers, Tensor(b!)?
// rest, Tensor(c!)[] states, ...) -> Tensor". It is called, counted and observed like any other.
#pragma once
#include <string>

#include "dyadic/optim.h"
#include "optim/rule.h"

namespace dyadic::inline v1::optim {

struct UpdateTensors {
  const Tensor &param, &grad;
  Tensor rest;  // what rounding the parameter left; may be undefined
  std::span<const Tensor> states;
};
struct UpdateNumbers {  // they change from step to step: the op reads them from memory
  double grad_scale = 1, coupled = 0, decoupled = 0, constants[kMaxConstants]{};
  int count = 0;  // of constants
};
struct UpdateRounding {
  bool stochastic = false;
  uint64_t seed = 0, stream = 0;
};

// rule: null for AdamW's own kernel, whose constants are lr, beta1, beta2, eps, bias1, bias2 and whose decay is `decoupled`.
// optimizer: the name under which it is counted.
// Gives how many elements moved, how many should have, and the squares of parameter and step, of rules that measure.
inline constexpr int64_t kUpdateFigures = 4;
inline void count_update(UpdateMeter& m, const double* figures) {
  m.nonzero += int64_t(figures[0]), m.lost += int64_t(figures[1]);
}
Tensor run_update(const std::string& optimizer, const Rule* rule, const UpdateTensors& tensors, const UpdateNumbers& numbers,
                  const UpdateRounding& rounding);

}  // namespace dyadic::inline v1::optim
