// The mathematical functions of base/simd applied over arrays, once per instruction set.
#pragma once
#include <cstdint>

#include "base/parallel.h"

namespace dyadic::inline v1 {

struct MathEntry {
  const char* name;
  void (*f32)(const float* x, float* y, int64_t n);
  void (*f64)(const double* x, double* y, int64_t n);
};
struct MathEntry2 {
  const char* name;
  void (*f32)(const float* x, const float* y, float* z, int64_t n);
  void (*f64)(const double* x, const double* y, double* z, int64_t n);
};
struct MathKernel {
  MathEntry entry[40];
  int count;
  MathEntry2 entry2[8];
  int count2;
};

}  // namespace dyadic::inline v1
DY_KERNEL(MathKernel, math_kernel)
