// Values combined at indexed places a row at a time: self's row is decoded, combined and encoded while it lies in the caches,
// so that the whole is never held in the compute type.
#pragma once
#include "loops/operand.h"
#include "ops/index/indexed_kernel.h"

namespace dyadic::inline v1 {

struct CombineRows {  // of dense operands
  int64_t count = 0, size = 0, places = 0;
  int64_t plain_stride = 0;  // between rows of the plain operand
  const int64_t* index = nullptr;
};
struct CombineTargets {  // of dense operands: `count` slices of `targets` rows, `places` in the plain one, of `lanes` elements
  int64_t count = 0, targets = 0, places = 0, lanes = 0;
  // Places order[start[t]] ... order[start[t + 1] - 1] go to row t.
  const int64_t *start = nullptr, *order = nullptr;
};

struct CombineKernel {
  // For every row out = self, then out[index[j]] = out[index[j]] op plain[j], j in order; `first` (or null) is a number of the
  // compute type that takes the place of self's at the named places.
  void (*rows)(const CombineRows& rows, IndexedOp op, Source self, Source plain, Target out, const void* first,
               void* workspace);
  int64_t (*workspace)(const CombineRows& rows, Source self);
  // For every row t of a slice out = self + the rows of plain that go there, in order.
  void (*add_targets)(const CombineTargets& targets, Source self, Source plain, Target out);
};

}  // namespace dyadic::inline v1

DY_KERNEL(CombineKernel, combine_kernel)
