// Reductions over the middle of an [outer, n, inner] array whose [n, inner] are contiguous.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "loops/operand.h"

namespace dyadic::inline v1 {

enum class ReduceOp : uint8_t {
  sum,
  mean,
  prod,
  sum_squares,
  sum_abs,
  nan_sum,
  numbers,
  logsumexp,
  moments,
  any,
  all,
  max,
  min,
  extremes,
  argmax,
  argmin
};

// inner = 1 reduces rows, outer = inner = 1 everything. Rows may be in several pieces of n elements, outer * n apart.
struct ReduceShape {
  int64_t outer = 1, n = 1, inner = 1, pieces = 1;
  int64_t step = -1;  // elements from one [n, inner] to the next; -1: n * inner

  int64_t outer_step() const { return step < 0 ? n * inner : step; }
};

// x: [outer, n, inner] of any scalar format; y: [outer, inner] of any scalar format, converted to once from double (sums and
// products of floats), i64 (of integers, which wrap; argmax, argmin), i32 0 or 1 (any, all) or x's compute type (max, min,
// extremes: the smallest into y, the largest into `high`); of moments the squared distances from the mean, added, go into y,
// the mean into `high`. nan_sum leaves NaN out, numbers counts what is not NaN. Floats are added in their compute type within
// blocks and in double across them: the relative error of a sum of 16 Mi floats is about 1e-7. max, min, argmax and argmin
// propagate NaN (the first one's index; the first index of equal values) and need n
// >= 1; for n = 0 the others give 0, NaN (mean), 1 (prod), -inf (logsumexp), false, true. mean to moments, but prod, are for
// floats. NaN counts as true. workspace: bytes `run` needs. Threads inside; the order of a sum depends on the shape alone.
struct ReduceKernel {
  int64_t (*workspace)(ReduceOp op, const ReduceShape& shape, const Format& x);
  void (*run)(ReduceOp op, const ReduceShape& shape, Source x, Target y, Target high, void* workspace);
  // A sum over everything in two steps, of floats: n elements from a multiple of kReduceBlock on, block by block, and from the
  // sums of all blocks what `run` gives of so many elements; with NaNs in it perhaps another NaN.
  void (*blocks)(ReduceOp op, Source x, int64_t n, double* sums);
  double (*total)(ReduceOp op, int64_t n, const double* sums);
};
inline constexpr int64_t kReduceBlock = 4096;
inline bool adds_blocks(ReduceOp op) { return op <= ReduceOp::numbers && op != ReduceOp::prod; }

}  // namespace dyadic::inline v1

DY_KERNEL(ReduceKernel, reduce_kernel)
