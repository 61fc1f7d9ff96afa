// The one loop of all ops that read or write at places given by an index: gather, scatter, index_select, index_add, index_put.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "loops/operand.h"

namespace dyadic::inline v1 {

// Outer dimensions, then `places` entries along the indexed dimension, then lanes. Strides count elements; the indexed
// operand's stride of places is multiplied by what the index says. Places of one outer entry and lane are visited in order, by
// one thread, so that of writes to one element the last wins and sums have one order.
struct IndexedLoop {
  static constexpr int kOuter = 16;
  struct Walk {
    int64_t outer[kOuter]{}, place = 0, lane = 0;
  };
  int ndim = 0;
  int64_t size[kOuter]{}, places = 1, lanes = 1;
  Walk indexed, plain, index;
  const int64_t* positions = nullptr;
};

inline constexpr int64_t kAnyPosition = -1;  // the size of who has looked before

enum class IndexedOp : uint8_t { add, mul, min, max };

struct IndexedKernel {
  // plain[..., j, ...] = indexed[..., index[..., j, ...], ...] and the reverse, by width (1, 2, 4, 8 or 16 bytes). Reading
  // looks at the positions it is about to use: false if one is not in [0, size), and then some elements have not been read.
  bool (*read)(const IndexedLoop& loop, const void* indexed, void* plain, int64_t width, int64_t size);
  void (*write)(const IndexedLoop& loop, void* indexed, const void* plain, int64_t width);
  // indexed[...] = indexed[...] op plain[...] in a compute type; NaN wins in min and max.
  void (*combine)(const IndexedLoop& loop, IndexedOp op, Compute compute, void* indexed, const void* plain);
  // The first of n positions that is not in [low, high); -1: all are.
  int64_t (*first_outside)(const int64_t* positions, int64_t n, int64_t low, int64_t high);
};

}  // namespace dyadic::inline v1

DY_KERNEL(IndexedKernel, indexed_kernel)
