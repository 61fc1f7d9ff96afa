// What a pointwise kernel is told of a call: where its operands lie, by strides over one iteration space.
#pragma once
#include "loops/tile.h"
#include "plugins/cuda/copies/space.h"
#include "plugins/cuda/pointwise/runs.h"

namespace dyadic::gpu {

enum class Lies : uint8_t {
  nowhere,   // is not read
  number,    // one number of the host's
  repeated,  // one element for all of a run
  strided,   // in memory, the elements of a run beside each other
};

// A run has kGroup elements where no operand's have more than two bytes, otherwise kRun: an access is at most 16 bytes.
inline constexpr int kRun = 4, kGroup = 8;
inline constexpr int kRuns = 2;       // that a thread takes, a block's threads apart
inline constexpr int kThreads = 256;  // of a block
inline constexpr int kPlaces = kMaxOperands + 1;

// A unit is an element, or a run; the last run may have fewer.
struct Work {
  Space<kPlaces> space;                       // of units; strides in bytes; the result is behind the inputs
  const char* at[kPlaces];                    // the result's is written
  alignas(16) char number[kMaxOperands][16];  // in the compute type
  double params[2 * kMaxParams];              // loops/tile.h
  Lies lies[kPlaces];
  Code code[kPlaces];
  uint8_t bytes[kPlaces];  // of an element
  int run;                 // elements of a run
  int rest;                // of the last one
  uint32_t units;

  // Where the operands' parts of a unit begin; kUsed: bit k, operand k is asked for.
  template <unsigned kUsed, int kCount> DY_DEVICE void find(uint32_t unit, int64_t (&offset)[kCount]) const {
    DY_UNROLL
    for (int k = 0; k < kCount; ++k) offset[k] = 0;
    DY_NO_UNROLL
    for (int d = space.ndim - 1; d > 0; --d) {
      const uint32_t next = space.size[d].quotient(unit);
      add<kUsed>(d, unit - next * uint32_t(space.size[d].by), offset);
      unit = next;
    }
    add<kUsed>(0, unit, offset);
  }
  // The same of a run, whose innermost stride is 0 or its bytes.
  template <unsigned kUsed, int kCount> DY_DEVICE void find_run(uint32_t unit, int64_t (&offset)[kCount]) const {
    if (space.ndim > 1) return find<kUsed>(unit, offset);
    DY_UNROLL
    for (int k = 0; k < kCount; ++k) offset[k] = kUsed >> k & 1 ? int64_t(wide_product(unit, uint32_t(space.stride[k][0]))) : 0;
  }
  template <unsigned kUsed, int kCount> DY_DEVICE void add(int d, uint32_t at, int64_t (&offset)[kCount]) const {
    DY_UNROLL
    for (int k = 0; k < kCount; ++k)
      if (kUsed >> k & 1) offset[k] += space.stride[k][d] * int64_t(at);
  }
};

}  // namespace dyadic::gpu
