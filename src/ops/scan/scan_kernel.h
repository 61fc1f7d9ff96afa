// Running sums, products, extremes and logsumexp along one dimension of dense data.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "loops/operand.h"

namespace dyadic::inline v1 {

struct ScanShape {  // [outer, n, inner], scanned along n
  int64_t outer = 1, n = 1, inner = 1;
};
enum class ScanOp : uint8_t { sum, prod, logsumexp, max, min };

struct ScanKernel {
  // Sums and products of f32 are kept in double, logsumexp too; each result is rounded once. y has a compute dtype's or a
  // narrower float's format, x any scalar one. Long rows are cut at fixed places: the same bits for any number of threads.
  void (*run)(ScanOp op, const ScanShape& shape, Source x, Target y, void* workspace);
  int64_t (*workspace)(ScanOp op, const ScanShape& shape);
  // Running extremes with the index of the last of equal ones; NaN, once there, stays.
  void (*extremes)(ScanOp op, const ScanShape& shape, Source x, Target y, int64_t* index);
};

}  // namespace dyadic::inline v1

DY_KERNEL(ScanKernel, scan_kernel)
