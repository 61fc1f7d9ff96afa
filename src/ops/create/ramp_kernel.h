// Values at equal distances.
#pragma once
#include <cstdint>

#include "base/parallel.h"

namespace dyadic::inline v1 {

// out[i] = start + (first + i) step, in the type it is computed in; integers wrap.
struct RampKernel {
  void (*real)(double start, double step, int64_t first, int64_t n, double* out);
  void (*whole)(int64_t start, int64_t step, int64_t first, int64_t n, int64_t* out);
};

}  // namespace dyadic::inline v1

DY_KERNEL(RampKernel, ramp_kernel)
