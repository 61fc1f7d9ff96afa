// Sums of a few weighted neighbours along one axis of [outer, in, inner], and the transpose of that map.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "loops/operand.h"

namespace dyadic::inline v1 {

struct ResampleShape {
  int64_t outer = 1, in = 0, out = 0, inner = 1, width = 0;
  const int64_t *begin = nullptr, *count = nullptr;  // of each result's elements
  const double* weight = nullptr;                    // width per result
};

// Formats are all f64, or any other floats, computed in f32 and rounded once. Threads inside.
struct ResampleKernel {
  int64_t (*workspace)(const ResampleShape& shape);
  void (*forward)(const ResampleShape& shape, Source x, Target y, void* workspace);
  void (*backward)(const ResampleShape& shape, Source dy, Target dx, void* workspace);
};

}  // namespace dyadic::inline v1

DY_KERNEL(ResampleKernel, resample_kernel)
