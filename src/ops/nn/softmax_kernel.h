// softmax and log_softmax over rows.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "loops/operand.h"

namespace dyadic::inline v1 {

// All operands are [rows, n] of a float format: all f64, or any of the others, computed in f32 and rounded once. A row that
// holds NaN or inf, or nothing but -inf, gives NaN throughout. Threads inside, over rows.
struct SoftmaxKernel {
  // y = softmax(x), or its logarithm; y may be x.
  void (*forward)(Source x, Target y, int64_t rows, int64_t n, bool log);
  // y is the forward's result; dx may be dy.
  void (*backward)(Source y, Source dy, Target dx, int64_t rows, int64_t n, bool log);
};

}  // namespace dyadic::inline v1

DY_KERNEL(SoftmaxKernel, softmax_kernel)
