// Linear maps along one axis in which each result reads a few neighbours: interpolation, average pooling, adaptive averages.
// Maps over several axes are one such map after the other.
#pragma once
#include "ops/composite.h"

namespace dyadic::inline v1::ops {

// First entry of a map, and what follows it.
enum : int64_t {
  kNearest,       // element floor(i scale)
  kNearestExact,  // element floor((i + 0.5) scale)
  kLinear,        // align_corners
  kCubic,         // align_corners
  kAverage,   // kernel, stride, padding before, padding behind, what divides: 0 the elements in the window, 1 also padding, 2
              // one
  kAdaptive,  // part i of n: from floor(i in / n) to ceil((i + 1) in / n)
  kSmoothLinear,  // align_corners; the filter is as wide as the elements of a result, where they are more than one
  kSmoothCubic,   // align_corners
};

// The windows of `out` results over `in` elements: result i is the sum of weight[i * width + k] x[begin[i] + k], k < count[i].
struct Windows {
  int64_t in, out, width;
  int64_t *begin, *count;
  double* weight;
};
int64_t window_width(IntList map, int64_t in, int64_t out, double scale);
inline int64_t window_bytes(int64_t width, int64_t out) { return out * (2 + width) * 8; }
// Fills the tables, which live in window_bytes() of memory. scale: elements per result, 0: what the sizes say.
Windows make_windows(IntList map, int64_t in, int64_t out, double scale, void* memory);

// The number of windows of a pooling along an axis.
int64_t pooled_size(const char* who, int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                    bool ceil_mode);

Tensor interpolated(Args a);

}  // namespace dyadic::inline v1::ops
