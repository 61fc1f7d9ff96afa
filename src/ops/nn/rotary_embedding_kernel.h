// Pairs of a row's numbers, turned.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "loops/operand.h"

namespace dyadic::inline v1 {

// Rows of `width` numbers, of which (x[i], x[i + pairs]) are pairs; what is beyond stays. Steps in elements, of the dimensions
// before the last: of the input, of cosines and of sines. Results are dense.
struct RotaryRows {
  int64_t rows = 0, width = 0, pairs = 0;
  static constexpr int kMost = 16;
  int ndim = 0;
  int64_t sizes[kMost], x[kMost], cosine[kMost], sine[kMost];
};

// y[i] = x[i] cos[i] - x[i + pairs] sin[i], y[i + pairs] = x[i + pairs] cos[i] + x[i] sin[i]. Threads inside.
struct RotaryKernel {
  void (*turn)(const RotaryRows& rows, Source x, Source cosine, Source sine, Target y);
};

}  // namespace dyadic::inline v1

DY_KERNEL(RotaryKernel, rotary_kernel)
