// What the block formats share on SIMD vectors: a block's largest magnitude, table lookup by permutation, tails. Everything
// here is exact (integer maxima, permutations), so every instruction set gives the same bits.
//
// Note [Poisoned blocks]: a scale that is NaN or infinite must not hide. A block that holds a NaN gets a NaN scale and decodes
// to NaN throughout. A block that holds infinities gets an infinite scale: they decode to themselves, its finite elements (code
// of zero, times infinity) to NaN. A block of zeros has scale 0 and the codes of zero; the sign of a zero is not kept.
#pragma once
#ifndef HWY_COMPILE_ONLY_STATIC
#define HWY_COMPILE_ONLY_STATIC 1
#endif
#include <hwy/highway.h>

#include "formats/bits.h"

namespace dyadic::DY_ISA {

namespace hn = hwy::HWY_NAMESPACE;
using F32 = hn::ScalableTag<float>;
using I32 = hn::ScalableTag<int32_t>;
using VF = hn::Vec<F32>;
using VI = hn::Vec<I32>;
inline constexpr F32 kF32{};
inline constexpr I32 kI32{};
inline constexpr int64_t kLanes = int64_t(hn::MaxLanes(F32()));

// The bit pattern of the largest |x|: integers, so that NaN > infinity > finite, in any order.
inline uint32_t absmax_bits(const float* in, int64_t n) {
  const VI mask = hn::Set(kI32, int32_t(kAbsMask));
  VI a = hn::Zero(kI32), b = a;
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    a = hn::Max(a, hn::And(mask, hn::BitCast(kI32, hn::LoadU(kF32, in + i))));
    b = hn::Max(b, hn::And(mask, hn::BitCast(kI32, hn::LoadU(kF32, in + i + kLanes))));
  }
  if (i + kLanes <= n) {
    a = hn::Max(a, hn::And(mask, hn::BitCast(kI32, hn::LoadU(kF32, in + i))));
    i += kLanes;
  }
  uint32_t best = uint32_t(hn::GetLane(hn::MaxOfLanes(kI32, hn::Max(a, b))));
  for (; i < n; ++i) {
    const uint32_t u = float_bits(in[i]) & kAbsMask;
    best = u > best ? u : best;
  }
  return best;
}
inline float bits_absmax(uint32_t bits) { return bits > kInfBits ? kNaN : bits_float(bits); }
inline bool finite(float x) { return (float_bits(x) & kAbsMask) < kInfBits; }

// Below this 1 / scale would overflow or lose bits: such blocks are multiplied by kLift first, which is exact.
inline constexpr float kTiny = 0x1p-100f, kLift = 0x1p64f;

// table[index & 7] per lane; tables have 16 entries, the second half repeating the first.
#if DY_ISA_sse4
inline VF lookup8(const float* table, VI index) {
  alignas(16) int32_t at[kLanes];
  alignas(16) float got[kLanes];
  hn::Store(index, kI32, at);
  for (int64_t i = 0; i < kLanes; ++i) got[i] = table[at[i] & 7];
  return hn::Load(kF32, got);
}
#else
inline VF lookup8(VF table, VI index) {
#if DY_ISA_avx512
  return VF{_mm512_permutexvar_ps(index.raw, table.raw)};
#else
  return VF{_mm256_permutevar8x32_ps(table.raw, index.raw)};
#endif
}
inline VF lookup8(const float* table, VI index) { return lookup8(hn::LoadU(kF32, table), index); }
#endif

// v + 1 where a lane of m is true.
inline VI count_if(VI v, hn::Mask<F32> m) {
#if DY_ISA_avx512
  return VI{_mm512_mask_add_epi32(v.raw, m.raw, v.raw, _mm512_set1_epi32(1))};
#else
  return hn::Sub(v, hn::VecFromMask(kI32, hn::RebindMask(kI32, m)));
#endif
}

// A bit per lane of m, the first lowest.
inline uint32_t mask_bits(hn::Mask<F32> m) {
#if DY_ISA_avx512
  return m.raw;
#elif DY_ISA_avx2
  return uint32_t(_mm256_movemask_ps(hn::VecFromMask(kF32, m).raw));
#else
  return uint32_t(_mm_movemask_ps(hn::VecFromMask(kF32, m).raw));
#endif
}

// To integers towards zero, and to the nearest (even): of values that fit, so without Highway's repair of those that don't,
// which become -2^31.
inline VI truncate(VF x) {
#if DY_ISA_avx512
  return VI{_mm512_cvttps_epi32(x.raw)};
#elif DY_ISA_avx2
  return VI{_mm256_cvttps_epi32(x.raw)};
#else
  return VI{_mm_cvttps_epi32(x.raw)};
#endif
}
inline VI nearest(VF x) {
#if DY_ISA_avx512
  return VI{_mm512_cvtps_epi32(x.raw)};
#elif DY_ISA_avx2
  return VI{_mm256_cvtps_epi32(x.raw)};
#else
  return hn::NearestInt(x);
#endif
}

// The lanes of v as bytes, saturated to 0 .. 255.
inline void store_bytes(VI v, uint8_t* out) {
  constexpr hn::Rebind<uint8_t, I32> bytes{};
  hn::StoreU(hn::DemoteTo(bytes, v), bytes, out);
}

// Four vectors as one of bytes, saturated to 0 .. 255 or, of the signs alone, to -128 .. 127: packed within 128 bits, so in an
// order that store_packed makes the vectors' own.
using Bytes = hn::Vec<hn::Repartition<uint8_t, I32>>;
inline Bytes pack_bytes(VI a, VI b, VI c, VI d) {
#if DY_ISA_avx512
  return Bytes{_mm512_packus_epi16(_mm512_packs_epi32(a.raw, b.raw), _mm512_packs_epi32(c.raw, d.raw))};
#elif DY_ISA_avx2
  return Bytes{_mm256_packus_epi16(_mm256_packs_epi32(a.raw, b.raw), _mm256_packs_epi32(c.raw, d.raw))};
#else
  return Bytes{_mm_packus_epi16(_mm_packs_epi32(a.raw, b.raw), _mm_packs_epi32(c.raw, d.raw))};
#endif
}
inline hn::Mask<hn::Repartition<int8_t, I32>> pack_signs(VI a, VI b, VI c, VI d) {
  constexpr hn::Repartition<int8_t, I32> bytes{};
#if DY_ISA_avx512
  const auto packed = _mm512_packs_epi16(_mm512_packs_epi32(a.raw, b.raw), _mm512_packs_epi32(c.raw, d.raw));
#elif DY_ISA_avx2
  const auto packed = _mm256_packs_epi16(_mm256_packs_epi32(a.raw, b.raw), _mm256_packs_epi32(c.raw, d.raw));
#else
  const auto packed = _mm_packs_epi16(_mm_packs_epi32(a.raw, b.raw), _mm_packs_epi32(c.raw, d.raw));
#endif
  return hn::MaskFromVec(hn::BroadcastSignBit(hn::Vec<decltype(bytes)>{packed}));
}
inline void store_packed(Bytes v, uint8_t* out) {
#if DY_ISA_avx512
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_storeu_si512(out, _mm512_permutexvar_epi32(order, v.raw));
#elif DY_ISA_avx2
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_permutevar8x32_epi32(v.raw, order));
#else
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), v.raw);
#endif
}
inline void store_bytes(VI a, VI b, VI c, VI d, uint8_t* out) { store_packed(pack_bytes(a, b, c, d), out); }

}  // namespace dyadic::DY_ISA
