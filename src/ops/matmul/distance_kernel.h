// Euclidean distances between the rows of two matrices, by differences: products would lose the digits of small distances.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "loops/operand.h"

namespace dyadic::inline v1 {

struct DistanceShape {
  int64_t batch = 1, n = 0, m = 0, d = 0;
};

// x [batch, n, d], y [batch, m, d], out [batch, n, m] of one format: f64, or any other float, computed in f32 and rounded once.
// Threads inside; bits depend on the shape and the instruction set alone. The workspace is bytes for the present num_threads(),
// of any alignment.
struct DistanceKernel {
  int64_t (*workspace)(const DistanceShape& shape, Source x);
  void (*run)(const DistanceShape& shape, Source x, Source y, Target out, void* workspace);
};

}  // namespace dyadic::inline v1

DY_KERNEL(DistanceKernel, distance_kernel)
