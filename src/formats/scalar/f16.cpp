// f16: IEEE 754 binary16. AVX2 and AVX-512 convert in hardware (F16C); bits.h does the same to the bit elsewhere and at the
// ends.
#include "formats/scalar/plain.h"
#include "formats/scalar/stochastic.h"

#if !DY_ISA_sse4
#include <immintrin.h>
#endif

namespace dyadic::DY_ISA {
namespace {

void decode(const void* stored, void* computed, int64_t n) {
  const uint16_t* __restrict__ s = static_cast<const uint16_t*>(stored);
  float* __restrict__ c = static_cast<float*>(computed);
  int64_t i = 0;
#if DY_ISA_avx512
  for (; i + 16 <= n; i += 16)  // the zeroing forms: g++ 12 warns of its own undefined operand in the plain ones
    _mm512_storeu_ps(c + i, _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s + i))));
#elif DY_ISA_avx2
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(c + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(s + i))));
#endif
  for (; i < n; ++i) c[i] = f16_value(s[i]);
}

void encode(const void* computed, void* stored, int64_t n, const Round& round) {
  const float* __restrict__ c = static_cast<const float*>(computed);
  uint16_t* __restrict__ s = static_cast<uint16_t*>(stored);
  if (round.mode == Rounding::stochastic) return encode_stochastic(c, s, n, round, f16_stochastic);
  int64_t i = 0;
#if DY_ISA_avx512
  for (; i + 16 <= n; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(s + i),
                        _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(c + i), _MM_FROUND_TO_NEAREST_INT));
#elif DY_ISA_avx2
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(s + i), _mm256_cvtps_ph(_mm256_loadu_ps(c + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < n; ++i) s[i] = f16_nearest(c[i]);
}

double decode1(const Format&, uint64_t code) { return f16_value(uint16_t(code)); }
uint64_t encode1(const Format&, double value) { return f16_nearest(round_to_odd(value)); }

}  // namespace

extern constexpr FormatDef f16_format = {
    .name = "f16",
    .long_name = "float16",
    .doc = "IEEE 754 binary16",
    .kind = Kind::floating,
    .compute = Compute::f32,
    .bits = 16,
    .exponent_bits = 5,
    .mantissa_bits = 10,
    .bias = 15,
    .max = 65504,
    .min_normal = 0x1p-14,
    .min_subnormal = 0x1p-24,
    .eps = 0x1p-10,
    .has_inf = true,
    .has_nan = true,
    .decode = decode,
    .encode = encode,
    .decode1 = decode1,
    .encode1 = encode1,
};

}  // namespace dyadic::DY_ISA
