// f8e8m0fnu: a power of two, 2^(code - 127), the scale of OCP's microscaling formats (OCP MX, 2023). No sign, no zero; code 255
// is NaN. As PyTorch has it: the sign is dropped, a tie goes up, what is below 2^-127 becomes 2^-127, infinity becomes NaN.
#include "formats/scalar/e8m0.h"
#include "formats/scalar/stochastic.h"

namespace dyadic::DY_ISA {
namespace {

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
    return encode_stochastic(c, s, n, round, [over](float x, uint32_t random) { return e8m0_stochastic(x, random, over); });
  for (int64_t i = 0; i < n; ++i) s[i] = e8m0_nearest(c[i], over);
}
double decode1(const Format&, uint64_t code) { return double(e8m0_value(uint8_t(code))); }
uint64_t encode1(const Format&, double x) { return e8m0_nearest(round_to_odd(x), 255); }

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
