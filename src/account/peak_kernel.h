// The processor's own limit in floating-point operations: multiply-adds on registers, nothing from memory.
#pragma once
#include <cstdint>

#include "base/parallel.h"

namespace dyadic::inline v1 {

struct PeakKernel {
  // `rounds` times some independent multiply-adds on this thread, of sink[0] and sink[1] into sink[2]; how many operations
  // those were, two for each.
  double (*multiply_add)(int64_t rounds, float* sink);
};

}  // namespace dyadic::inline v1

DY_KERNEL(PeakKernel, peak_kernel)
