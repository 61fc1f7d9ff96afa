// The dynamic 8-bit code on the device (src/formats/block/dynamic_code.h): values of codes and the nearest code.
#pragma once
#include "plugins/cuda/elements.h"  // first: it says whose namespace the formats' text lies in

#include "formats/block/dynamic_code.h"

namespace dyadic::gpu {

static __device__ const DY_ISA::DynamicTables kSignedDynamic = DY_ISA::kDynamicTables<true>;
static __device__ const DY_ISA::DynamicTables kUnsignedDynamic = DY_ISA::kDynamicTables<false>;

template <bool kSigned> __device__ __forceinline__ const DY_ISA::DynamicTables& dynamic_tables() {
  if constexpr (kSigned)
    return kSignedDynamic;
  else
    return kUnsignedDynamic;
}
// Before the block's scale.
template <bool kSigned> __device__ __forceinline__ float dynamic_value(uint8_t code) {
  return dynamic_tables<kSigned>().value[code];
}
// Of x over the block's largest magnitude, finite.
template <bool kSigned> __device__ __forceinline__ uint8_t dynamic_nearest(float x) {
  return DY_ISA::dynamic_code<kSigned>(x, dynamic_tables<kSigned>());
}

}  // namespace dyadic::gpu
