// bf16: the upper half of an f32.
#include "base/simd/bf16.h"
#include "formats/scalar/plain.h"
#include "formats/scalar/stochastic.h"

namespace dyadic::DY_ISA {
namespace {

void decode(const void* stored, void* computed, int64_t n) {
  const uint16_t* __restrict__ s = static_cast<const uint16_t*>(stored);
  float* __restrict__ c = static_cast<float*>(computed);
  int64_t i = 0;
  for (; i + FloatPair::size() <= n; i += FloatPair::size()) load_bf16(s + i).store(c + i);
  for (; i < n; ++i) c[i] = bf16_value(s[i]);
}

void encode(const void* computed, void* stored, int64_t n, const Round& round) {
  const float* __restrict__ c = static_cast<const float*>(computed);
  uint16_t* __restrict__ s = static_cast<uint16_t*>(stored);
  if (round.mode == Rounding::stochastic) return encode_stochastic(c, s, n, round, bf16_stochastic);
  int64_t i = 0;
  for (; i + FloatPair::size() <= n; i += FloatPair::size()) store_bf16(FloatPair::load(c + i), s + i);
  for (; i < n; ++i) s[i] = bf16_nearest(c[i]);
}

double decode1(const Format&, uint64_t code) { return bf16_value(uint16_t(code)); }
uint64_t encode1(const Format&, double value) { return bf16_nearest(round_to_odd(value)); }

}  // namespace

extern constexpr FormatDef bf16_format = {
    .name = "bf16",
    .long_name = "bfloat16",
    .doc = "f32's range with 8 bits of precision",
    .kind = Kind::floating,
    .compute = Compute::f32,
    .bits = 16,
    .exponent_bits = 8,
    .mantissa_bits = 7,
    .bias = 127,
    .max = 0x1.fep127,
    .min_normal = 0x1p-126,
    .min_subnormal = 0x1p-133,
    .eps = 0x1p-7,
    .has_inf = true,
    .has_nan = true,
    .decode = decode,
    .encode = encode,
    .decode1 = decode1,
    .encode1 = encode1,
};

}  // namespace dyadic::DY_ISA
