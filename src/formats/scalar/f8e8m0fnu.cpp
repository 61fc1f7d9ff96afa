// f8e8m0fnu: a power of two, 2^(code - 127), the scale of OCP's microscaling formats (OCP MX, 2023). No sign, no zero; code 255
// is NaN. As PyTorch has it: the sign is dropped, a tie goes up, what is below 2^-127 becomes 2^-127, infinity becomes NaN.
#include "formats/scalar/f8_scales.h"

namespace dyadic::DY_ISA {
namespace {

uint8_t nearest(float x, uint32_t beyond) {
  const uint32_t u = float_bits(x) & kAbsMask;
  const uint32_t h = (u + (1u << 22)) >> 23;
  const uint32_t low = u > (1u << 22) ? 1u : 0u;  // subnormals of f32: 2^-127 is the nearest up to itself
  const uint32_t finite = u < (1u << 23) ? low : h > 254 ? beyond : h;
  return uint8_t(u >= kInfBits ? (u > kInfBits ? 255u : beyond) : finite);
}
uint8_t stochastic(float x, uint32_t random, uint32_t beyond) {
  const uint32_t u = float_bits(x) & kAbsMask;
  const uint32_t h = (u + (random & 0x7fffffu)) >> 23;
  const uint32_t low = u < (1u << 22) ? 0u : ((u & 0x3fffffu) + (random & 0x3fffffu)) >> 22;  // between 2^-127 and 2^-126
  const uint32_t finite = u < (1u << 23) ? low : h > 254 ? beyond : h;
  return u >= kInfBits ? nearest(x, beyond) : uint8_t(finite);
}
uint32_t beyond(const Round& round) { return round.overflow == Overflow::saturate ? 254 : 255; }

void decode(const void* stored, void* computed, int64_t n) {
  const uint8_t* __restrict__ s = static_cast<const uint8_t*>(stored);
  float* __restrict__ c = static_cast<float*>(computed);
  for (int64_t i = 0; i < n; ++i) c[i] = e8m0_value(s[i]);
}
void encode(const void* computed, void* stored, int64_t n, const Round& round) {
  const float* __restrict__ c = static_cast<const float*>(computed);
  uint8_t* __restrict__ s = static_cast<uint8_t*>(stored);
  const uint32_t over = beyond(round);
  if (round.mode == Rounding::stochastic)
    return encode_stochastic(c, s, n, round, [over](float x, uint32_t random) { return stochastic(x, random, over); });
  for (int64_t i = 0; i < n; ++i) s[i] = nearest(c[i], over);
}
double decode1(const Format&, uint64_t code) { return double(e8m0_value(uint8_t(code))); }
uint64_t encode1(const Format&, double x) { return nearest(round_to_odd(x), 255); }

}  // namespace

extern constexpr FormatDef f8e8m0fnu_format = {
    .name = "f8e8m0fnu",
    .long_name = "float8_e8m0fnu",
    .doc = "powers of two, the scale of OCP's microscaling formats (OCP MX, 2023)",
    .kind = Kind::floating,
    .compute = Compute::f32,
    .bits = 8,
    .exponent_bits = 8,
    .mantissa_bits = 0,
    .bias = 127,
    .max = 0x1p127,
    .min_normal = 0x1p-127,
    .min_subnormal = 0x1p-127,
    .eps = 1,
    .has_nan = true,
    .decode = decode,
    .encode = encode,
    .decode1 = decode1,
    .encode1 = encode1,
};

}  // namespace dyadic::DY_ISA
