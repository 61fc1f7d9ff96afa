// The largest element of windows over the last three axes (missing ones have size 1), with its place, and what goes back there.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "loops/operand.h"

namespace dyadic::inline v1 {

struct MaxPoolShape {
  int64_t planes = 1, in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t step[3] = {1, 1, 1};             // between the elements of a window
  int64_t taps[3] = {1, 1, 1};             // no window has more along an axis
  const int64_t *begin[3]{}, *count[3]{};  // of each window along each axis
  int64_t elements() const { return in[0] * in[1] * in[2]; }
  int64_t windows() const { return out[0] * out[1] * out[2]; }
};

// Any scalar formats of one compute type f32 or f64. Threads inside, one plane at a time.
struct MaxPoolKernel {
  int64_t (*workspace)(const MaxPoolShape& shape, Source x);
  // NaN counts as largest; the first of equal elements wins. place: index in the plane of in.
  void (*forward)(const MaxPoolShape& shape, Source x, Target y, int64_t* place, void* workspace);
  // dx = 0, then dx[place[i]] += dy[i] in order. Returns -1, or the first i whose place is none (nothing has been written
  // then).
  int64_t (*backward)(const MaxPoolShape& shape, Source dy, const int64_t* place, Target dx, void* workspace);
};

}  // namespace dyadic::inline v1

DY_KERNEL(MaxPoolKernel, max_pool_kernel)
