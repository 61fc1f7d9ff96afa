// Eight elements at a time, in f64, each lane with sums of its own: a loop that the compiler makes vectors of.
#include "loops/rounding_kernel.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int kLanes = 8;
constexpr double kLargest = __DBL_MAX__;

double magnitude(double x) { return __builtin_fabs(x); }

struct Lanes {
  int64_t overflows[kLanes] = {}, flushed[kLanes] = {}, saturated[kLanes] = {}, nans[kLanes] = {};
  double squared[kLanes] = {}, off[kLanes] = {};

  void take(int l, double x, double y, double largest, double beyond) {
    const bool x_finite = magnitude(x) <= kLargest, y_finite = magnitude(y) <= kLargest;
    overflows[l] += !x_finite & y_finite;
    flushed[l] += (x == 0) & (y != 0);
    saturated[l] += (magnitude(x) == largest) & (magnitude(y) >= beyond);
    nans[l] += (x != x) & (y != y);
    const double wide = y_finite ? y : 0, narrow = y_finite & x_finite ? x : 0;
    squared[l] += wide * wide;
    off[l] += (narrow - wide) * (narrow - wide);
  }
};

template <class Wide> RoundingSums beside(const float* result, const Wide* shadow, int64_t n, double largest, double beyond) {
  Lanes all;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int l = 0; l < kLanes; ++l) all.take(l, double(result[i + l]), double(shadow[i + l]), largest, beyond);
  for (; i < n; ++i) all.take(int(i % kLanes), double(result[i]), double(shadow[i]), largest, beyond);
  RoundingSums sums;
  for (int l = 0; l < kLanes; ++l)
    sums.add({all.overflows[l], all.flushed[l], all.saturated[l], all.nans[l], all.squared[l], all.off[l]});
  return sums;
}

}  // namespace

extern const RoundingKernel rounding_kernel = {beside<float>, beside<double>};

}  // namespace dyadic::DY_ISA
