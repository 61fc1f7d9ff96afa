// What a kernel is told of a step of one parameter (optim/update_op.cpp).
#pragma once
#include "optim/rule.h"
#include "plugins/cuda/optim/held.h"

namespace dyadic::gpu {

struct Measured {  // as RuleResult
  double nonzero = 0, lost = 0, param_squares = 0, step_squares = 0;
};
struct AddMeasured {
  DY_DEVICE Measured operator()(Measured a, Measured b) const {
    return {a.nonzero + b.nonzero, a.lost + b.lost, a.param_squares + b.param_squares, a.step_squares + b.step_squares};
  }
};

// A state in the dynamic 8-bit code has a scale for every 256 elements, which so many threads hold at once.
inline constexpr int kStateBlock = 256, kCodeThreads = kStateBlock / kStepRun<float>, kStepThreads = 128, kStepWarps = 4;
inline constexpr int64_t kMostPieces = 4096;  // blocks of a step, whatever the device: what they measured is added in one order

struct UpdateWork {
  Held param, grad, rest, state[kMaxStates];
  bool has_rest;
  Code rounds_to;  // the parameter, which may be converted before and after
  int64_t n;
  double constants[kMaxConstants], scale, coupled, decoupled;
  float adamw[9];  // adamw::Constants
  Round rounding;
  Measured* pieces;  // of each block
};

}  // namespace dyadic::gpu
