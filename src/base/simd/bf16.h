// bf16, the upper half of an f32, beside vectors: two vectors of floats at a time, so that what is stored is a whole vector.
#pragma once
#include "base/simd/vec.h"

namespace dyadic::DY_ISA {

// As many floats as a machine vector holds bf16: `low` comes first.
struct FloatPair {
  Vec<float> low, high;
  static constexpr int64_t size() { return 2 * int64_t(Vec<float>::size()); }
  static DY_INLINE FloatPair load(const float* p) { return {Vec<float>::load(p), Vec<float>::load(p + size() / 2)}; }
  DY_INLINE void store(float* p) const {
    low.store(p);
    high.store(p + size() / 2);
  }
};

DY_INLINE FloatPair load_bf16(const uint16_t* p) {
  constexpr hn::ScalableTag<float> d;
  constexpr hn::RebindToUnsigned<decltype(d)> du;
  constexpr hn::Rebind<uint16_t, decltype(d)> half;
  auto floats = [&](const uint16_t* at) __attribute__((always_inline)) {
    return Vec<float>(hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(half, at)))));
  };
  return {floats(p), floats(p + Vec<float>::size())};
}

DY_INLINE bool any_nan(FloatPair x) {  // one comparison tells of both
#if DY_ISA_avx512
  return _mm512_cmp_ps_mask(x.low.v.raw, x.high.v.raw, _CMP_UNORD_Q);
#elif DY_ISA_avx2
  return _mm256_movemask_ps(_mm256_cmp_ps(x.low.v.raw, x.high.v.raw, _CMP_UNORD_Q));
#else
  return _mm_movemask_ps(_mm_cmpunord_ps(x.low.v.raw, x.high.v.raw));
#endif
}

// The nearest bf16 (ties to even) in the upper halves; of NaN a quiet one, which adding could turn into an infinity. By
// integers: the AVX-512 instruction vcvtneps2bf16 flushes subnormals.
template <bool kNaN> DY_INLINE auto upper_halves(Vec<float> x) {
  constexpr hn::ScalableTag<float> d;
  constexpr hn::RebindToUnsigned<decltype(d)> du;
  const auto u = hn::BitCast(du, x.v);
#if DY_ISA_avx512
  const __mmask16 odd = _mm512_test_epi32_mask(u.raw, _mm512_set1_epi32(0x10000));
  const __m512i less = _mm512_mask_blend_epi32(odd, _mm512_set1_epi32(0x7fff), _mm512_set1_epi32(0x8000));
  const hn::Vec<decltype(du)> near{_mm512_add_epi32(u.raw, less)};
#else
  const auto last = hn::And(hn::ShiftRight<16>(u), hn::Set(du, 1));
  const auto near = hn::Add(hn::Add(u, hn::Set(du, 0x7fff)), last);
#endif
  if constexpr (!kNaN) return near;
  return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(x.v)), hn::Or(u, hn::Set(du, 0x400000)), near);
}

// The upper halves of two vectors, one after the other.
template <class V> DY_INLINE auto join_upper(V low, V high) {
  const auto a = hn::ShiftRight<16>(low).raw, b = hn::ShiftRight<16>(high).raw;
#if DY_ISA_avx512
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);  // packed within 128 bits
  return hn::Vec<hn::ScalableTag<uint16_t>>{_mm512_permutexvar_epi64(order, _mm512_packus_epi32(a, b))};
#elif DY_ISA_avx2
  return hn::Vec<hn::ScalableTag<uint16_t>>{_mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), 0xd8)};
#else
  return hn::Vec<hn::ScalableTag<uint16_t>>{_mm_packus_epi32(a, b)};
#endif
}

// kExact: they are bf16.
template <bool kExact = false> DY_INLINE auto bf16_codes(FloatPair x) {
  constexpr hn::RebindToUnsigned<hn::ScalableTag<float>> du;
  if constexpr (kExact) return join_upper(hn::BitCast(du, x.low.v), hn::BitCast(du, x.high.v));
  if (__builtin_expect(any_nan(x), 0)) return join_upper(upper_halves<true>(x.low), upper_halves<true>(x.high));
  return join_upper(upper_halves<false>(x.low), upper_halves<false>(x.high));
}
template <bool kExact = false> DY_INLINE void store_bf16(FloatPair x, uint16_t* p) {
  hn::StoreU(bf16_codes<kExact>(x), hn::ScalableTag<uint16_t>(), p);
}
template <bool kExact = false> DY_INLINE void stream_bf16(FloatPair x, uint16_t* p) {
  hn::Stream(bf16_codes<kExact>(x), hn::ScalableTag<uint16_t>(), p);
}

}  // namespace dyadic::DY_ISA
