// Places of several operands that are walked together: dimensions merged where all operands allow it, and element i's place in
// each by multiplications instead of divisions.
#pragma once
#include "plugins/cuda/language.h"
#include "tensor/operand.h"

namespace dyadic::gpu {

// Division by a number that is the same for a whole launch; of numbers below 2^31 by a product (Granlund and Montgomery, 1994).
struct Divisor {
  int64_t by = 1;
  uint32_t factor = 1, shift = 0;

  Divisor() = default;
  explicit Divisor(int64_t n) : by(n) {
    if (n <= 0 || n >= int64_t{1} << 31) return;
    while (int64_t{1} << shift < n) ++shift;
    factor = uint32_t(((uint64_t{1} << 32) * ((uint64_t{1} << shift) - uint64_t(n))) / uint64_t(n) + 1);
  }
  DY_DEVICE uint32_t quotient(uint32_t n) const { return (uint32_t((uint64_t(n) * factor) >> 32) + n) >> shift; }
  // n / by, n not negative; where both are small by the product.
  DY_DEVICE int64_t divide(int64_t n) const { return ((n | by) >> 31) == 0 ? int64_t(quotient(uint32_t(n))) : n / by; }
};

template <int K> struct Space {
  int ndim = 0;  // outermost first
  bool wide = false;
  int64_t count = 1;
  Divisor size[kMaxDims];
  int64_t stride[K][kMaxDims];

  // A further dimension, inside of those there are.
  void add(int64_t n, const int64_t (&steps)[K]) {
    count *= n;
    if (n == 1) return;
    bool merges = ndim > 0;
    for (int k = 0; k < K && merges; ++k) merges = stride[k][ndim - 1] == steps[k] * n;
    if (!merges) size[ndim++].by = 1;
    size[ndim - 1].by *= n;
    for (int k = 0; k < K; ++k) stride[k][ndim - 1] = steps[k];
  }
  // Once all are there, or have been changed.
  void finish() {
    count = 1;
    for (int d = 0; d < ndim; ++d) count *= size[d].by, size[d] = Divisor(size[d].by);
    wide = count >= int64_t{1} << 31;
  }
  int64_t inner() const { return ndim ? size[ndim - 1].by : 1; }
  bool inner_dense() const {  // in all operands
    bool dense = true;
    for (int k = 0; k < K; ++k) dense = dense && (ndim == 0 || stride[k][ndim - 1] == 1);
    return dense;
  }
  // As runs of n elements of the innermost dimension, which n divides.
  bool cut(int64_t n) {
    if (ndim == 0 || inner() % n) return false;
    for (int k = 0; k < K; ++k) stride[k][ndim - 1] *= n;
    size[ndim - 1].by /= n;
    finish();
    return true;
  }

  DY_DEVICE void offsets(int64_t i, int64_t (&at)[K]) const {
    for (int k = 0; k < K; ++k) at[k] = 0;
    if (ndim == 0) return;
    if (wide) {
      for (int d = ndim - 1; d > 0; --d) {
        const int64_t next = i / size[d].by, here = i - next * size[d].by;
        for (int k = 0; k < K; ++k) at[k] += here * stride[k][d];
        i = next;
      }
    } else {
      uint32_t rest = uint32_t(i);
      for (int d = ndim - 1; d > 0; --d) {
        const uint32_t next = size[d].quotient(rest), here = rest - next * uint32_t(size[d].by);
        for (int k = 0; k < K; ++k) at[k] += int64_t(here) * stride[k][d];
        rest = next;
      }
      i = rest;
    }
    for (int k = 0; k < K; ++k) at[k] += i * stride[k][0];
  }
};

// Strides by which `o` is walked in the sizes of a tensor of ndim dimensions, to which it is broadcast.
inline int64_t broadcast_step(const Operand& o, int ndim, int d) {
  const int mine = d - (ndim - o.ndim);
  return mine < 0 || o.lengths[mine] == 1 ? 0 : o.steps[mine];
}

}  // namespace dyadic::gpu
