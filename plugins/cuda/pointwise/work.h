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

inline constexpr int kRun = 4, kRuns = 2;  // elements of a run, and runs that a thread takes at once, where that is possible
inline constexpr int kThreads = 256;       // of a block
inline constexpr int kPlaces = kMaxOperands + 1;

// A unit is an element, or a run of kRun; the last run may have fewer.
struct Work {
  Space<kPlaces> space;                       // of units; strides in bytes; the result is behind the inputs
  const char* at[kPlaces];                    // the result's is written
  alignas(16) char number[kMaxOperands][16];  // in the compute type
  double params[2 * kMaxParams];              // loops/tile.h
  Lies lies[kPlaces];
  Code code[kPlaces];
  uint8_t bytes[kPlaces];  // of an element
  int rest;                // elements of the last run
  uint32_t units;

  // Where the operands' parts of a unit begin; kUsed: bit k, operand k is asked for.
  template <unsigned kUsed, int kCount> DY_DEVICE void find(uint32_t unit, int64_t (&offset)[kCount]) const {
    DY_UNROLL
    for (int k = 0; k < kCount; ++k) offset[k] = 0;
    for (int d = space.ndim - 1; d > 0; --d) {
      const uint32_t next = space.size[d].quotient(unit);
      add<kUsed>(d, unit - next * uint32_t(space.size[d].by), offset);
      unit = next;
    }
    add<kUsed>(0, unit, offset);
  }
  template <unsigned kUsed, int kCount> DY_DEVICE void add(int d, uint32_t at, int64_t (&offset)[kCount]) const {
    DY_UNROLL
    for (int k = 0; k < kCount; ++k)
      if (kUsed >> k & 1) offset[k] += space.stride[k][d] * int64_t(at);
  }
};

}  // namespace dyadic::gpu
