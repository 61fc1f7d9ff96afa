// AdamW (Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019, as PyTorch computes it) in one pass over memory,
// and the passes over gradients around it: unscaling with a check for infinities, and the sum of squares for clipping.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "loops/operand.h"

namespace dyadic::inline v1 {

// Hyperparameters are doubles, as Python has them; the constants of the loop are rounded from them once (1 - 0.999f in f32
// would be 5e-5 off). bias1 = 1 - beta1^t, bias2 = 1 - beta2^t for the t-th step, t = 1, 2 ...
struct AdamwStep {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01, bias1 = 1, bias2 = 1;
  double grad_scale = 1;  // gradients count as this much of themselves: 1 / loss scale, clipping; -1 maximizes
  Round rounding;         // of parameters in bf16 or f16; index is that of the first element
};

// A state: n floats, or 8-bit codes in blocks of 256 with one f32 absmax each (dynamic8 for m, udynamic8 for v).
struct AdamwState {
  void* data = nullptr;
  float* absmax = nullptr;  // null: data is float
};

struct AdamwArrays {
  Target param;     // f32, bf16 or f16
  Source grad;      // f32, bf16 or f16
  AdamwState m, v;  // both float or both 8-bit
  int64_t n = 0;
};

// The lost-update meter: elements whose step, weight decay included, was not zero, and those among them whose stored value did
// not change.
struct UpdateCount {
  int64_t nonzero = 0, lost = 0;
};

inline constexpr int64_t kAdamwBlock = 256;  // elements of an 8-bit state's block; the last may be shorter

// Threads inside, cut at multiples of kAdamwBlock. With u = grad_scale * grad, all in f32:
//   m = beta1 m + (1 - beta1) u,  v = beta2 v + (1 - beta2) u^2
//   p = p (1 - lr weight_decay) - (lr / bias1) m / (sqrt(v) / sqrt(bias2) + eps)
// 8-bit states are decoded, updated, used, and encoded again with their blocks' new absmax (as bitsandbytes does blockwise).
struct AdamwKernel {
  UpdateCount (*step)(const AdamwArrays& arrays, const AdamwStep& step);
  // grad *= factor in place; returns whether all products are finite.
  bool (*unscale)(Target grad, int64_t n, double factor);
  // Squares and sum in double, so that no finite f32 gradient overflows or underflows; the order depends on n alone.
  double (*sum_squares)(Source grad, int64_t n);
};

}  // namespace dyadic::inline v1

DY_KERNEL(AdamwKernel, adamw_kernel)
