// Reductions over the middle of a contiguous [outer, n, inner] array.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "loops/operand.h"

namespace dyadic::inline v1 {

enum class ReduceOp : uint8_t { sum, mean, prod, sum_squares, any, all, max, min, argmax, argmin };

// inner = 1 reduces rows, outer = inner = 1 everything.
struct ReduceShape {
  int64_t outer = 1, n = 1, inner = 1;
};

// x: [outer, n, inner] of any scalar format; y: [outer, inner] of any scalar format, converted to once from double (sums and
// products of floats), i64 (of integers, which wrap; argmax, argmin), i32 0 or 1 (any, all) or x's compute type (max, min).
// Floats are added in their compute type within blocks and in double across them: the relative error of a sum of 16 Mi floats
// is about 1e-7. max, min, argmax and argmin propagate NaN (the first one's index; the first index of equal values) and need n
// >= 1; for n = 0 the others give 0, NaN (mean), 1 (prod), false, true. mean and sum_squares are for floats. NaN counts as
// true. workspace: bytes `run` needs. Threads inside; the order of a sum depends on the shape alone.
struct ReduceKernel {
  int64_t (*workspace)(ReduceOp op, const ReduceShape& shape, const Format& x);
  void (*run)(ReduceOp op, const ReduceShape& shape, Source x, Target y, void* workspace);
};

}  // namespace dyadic::inline v1

DY_KERNEL(ReduceKernel, reduce_kernel)
