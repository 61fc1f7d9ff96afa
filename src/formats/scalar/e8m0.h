// Powers of two as a byte (f8e8m0fnu), one element at a time in plain C++. `beyond`: what is larger than the largest becomes
// that.
#pragma once
#include "formats/bits.h"

namespace dyadic::DY_ISA {

// 2^-127 is a subnormal of f32.
static constexpr float e8m0_value(uint8_t code) {
  return bits_float(code == 0 ? 1u << 22 : code == 255 ? 0x7fc00000u : uint32_t(code) << 23);
}
// Of exact powers of two and NaN.
static constexpr uint8_t e8m0_code(float power) { return uint8_t(power != power ? 255u : float_bits(power) >> 23); }
static constexpr uint8_t e8m0_nearest(float x, uint32_t beyond) {
  const uint32_t u = float_bits(x) & kAbsMask;
  const uint32_t h = (u + (1u << 22)) >> 23;
  const uint32_t low = u > (1u << 22) ? 1u : 0u;  // subnormals of f32: 2^-127 is the nearest up to itself
  const uint32_t finite = u < (1u << 23) ? low : h > 254 ? beyond : h;
  return uint8_t(u >= kInfBits ? (u > kInfBits ? 255u : beyond) : finite);
}
static constexpr uint8_t e8m0_stochastic(float x, uint32_t random, uint32_t beyond) {
  const uint32_t u = float_bits(x) & kAbsMask;
  const uint32_t h = (u + (random & 0x7fffffu)) >> 23;
  const uint32_t low = u < (1u << 22) ? 0u : ((u & 0x3fffffu) + (random & 0x3fffffu)) >> 22;  // between 2^-127 and 2^-126
  const uint32_t finite = u < (1u << 23) ? low : h > 254 ? beyond : h;
  return u >= kInfBits ? e8m0_nearest(x, beyond) : uint8_t(finite);
}

}  // namespace dyadic::DY_ISA
