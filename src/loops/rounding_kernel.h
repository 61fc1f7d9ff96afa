// Results beside what a wider computation gives: what rounding has made of them, counted.
#pragma once
#include <cstdint>

#include "base/parallel.h"

namespace dyadic::inline v1 {

struct RoundingSums {  // as RoundingCount has them; nans: in both
  int64_t overflows = 0, flushed = 0, saturated = 0, nans = 0;
  double squared = 0, squared_difference = 0;
  void add(const RoundingSums& other) {
    overflows += other.overflows, flushed += other.flushed, saturated += other.saturated, nans += other.nans;
    squared += other.squared, squared_difference += other.squared_difference;
  }
};

// largest: the finite number that results end at; beyond: from where on a shadow rounds to more than that. The sums do not
// depend on the instruction set.
struct RoundingKernel {
  RoundingSums (*beside_f32)(const float* result, const float* shadow, int64_t n, double largest, double beyond);
  RoundingSums (*beside_f64)(const float* result, const double* shadow, int64_t n, double largest, double beyond);
};

}  // namespace dyadic::inline v1

DY_KERNEL(RoundingKernel, rounding_kernel)
