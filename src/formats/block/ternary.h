// tq1_0 and tq2_0: ggml's ternary super-blocks of 256: d = absmax in f16, codes 0, 1, 2 of x / d rounded half away from zero,
// values (code - 1) d. Where 1 / d overflows (d is then 0 in f16), all codes are 1.
#pragma once
#include "formats/block/ggml.h"

namespace dyadic::DY_ISA {

// Packing: kBytes of packed codes; pack(codes[256], out), unpack(packed, codes). The scale stands behind them.
template <class Packing> struct Ternary {
  static constexpr int64_t kSize = kSuper, kBytes = Packing::kBytes + 2, kBatch = 1;

  static void decode(const uint8_t* block, float* out) {
    alignas(64) uint8_t codes[kSize];
    alignas(64) int8_t centred[kSize];
    Packing::unpack(block, codes);
    for (int64_t i = 0; i < kSize; ++i) centred[i] = int8_t(codes[i] - 1);
    scale_codes(centred, kSize, load_f16(block + Packing::kBytes), out);
  }
  static void encode(const float* in, int64_t, const float* absmax, uint8_t* block) {
    const float inverse = *absmax != 0 ? 1.0f / *absmax : 0.0f;
    const VF by = hn::Set(kF32, finite(inverse) ? inverse : 0.0f), half = hn::Set(kF32, 0.5f), minus = hn::Set(kF32, -0.5f);
    alignas(64) uint8_t codes[kSize];
    for (int64_t i = 0; i < kSize; i += kLanes) {
      const VF v = hn::Mul(hn::LoadU(kF32, in + i), by);
      store_bytes(count_if(count_if(hn::Zero(kI32), hn::Ge(v, half)), hn::Gt(v, minus)), codes + i);
    }
    Packing::pack(codes, block);
    store_f16(*absmax, block + Packing::kBytes);
  }
  static void poison(const float* in, float absmax, uint8_t* block) {
    uint8_t codes[kSize];
    poison_codes(in, kSize, 0, 1, 2, codes);
    Packing::pack(codes, block);
    store_f16(absmax, block + Packing::kBytes);
  }
};

}  // namespace dyadic::DY_ISA
