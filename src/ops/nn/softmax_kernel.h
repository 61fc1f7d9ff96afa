// softmax and log_softmax along one dimension.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "loops/operand.h"

namespace dyadic::inline v1 {

// All operands are [outer, n, inner] of a float format: all f64, or any of the others, computed in f32 and rounded once. What
// holds NaN or inf along n, or nothing but -inf, gives NaN throughout. inner is 1 (rows), or n at most kSoftmaxColumns. Threads
// inside.
struct SoftmaxKernel {
  // y = softmax(x) along n, or its logarithm; y may be x.
  void (*forward)(Source x, Target y, int64_t outer, int64_t n, int64_t inner, bool log);
  // y is the forward's result; dx may be dy.
  void (*backward)(Source y, Source dy, Target dx, int64_t outer, int64_t n, int64_t inner, bool log);
};
inline constexpr int64_t kSoftmaxColumns = 1024;

}  // namespace dyadic::inline v1

DY_KERNEL(SoftmaxKernel, softmax_kernel)
