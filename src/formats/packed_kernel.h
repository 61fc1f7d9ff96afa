// The bitstreams of packed tensors (bitstream.h), by a width known at run time.
#pragma once
#include "base/parallel.h"

namespace dyadic::inline v1 {

inline constexpr int64_t kCodeRoom = 32;  // codes that unpack() may write behind the last

struct PackedKernel {
  void (*unpack)(int bits, const uint8_t* packed, int64_t begin, int64_t n, uint8_t* codes);
  // From a byte boundary on; the bits behind the last code become zero.
  void (*pack)(int bits, const uint8_t* codes, int64_t n, uint8_t* packed);
};

}  // namespace dyadic::inline v1

DY_KERNEL(PackedKernel, packed_kernel)
