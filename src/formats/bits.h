// The bit patterns of f32, f16 and bf16 in plain C++: one element, no std, no SIMD, no branch that a vectorizer minds. The
// scalar formats' loops, the scales of the block formats and the tests' cross-checks use them. All internal to the including
// file, so that files compiled for different instruction sets share nothing.
#pragma once
#include <cstdint>

namespace dyadic::inline v1 {

static constexpr uint32_t float_bits(float x) { return __builtin_bit_cast(uint32_t, x); }
static constexpr float bits_float(uint32_t u) { return __builtin_bit_cast(float, u); }
static constexpr uint64_t double_bits(double x) { return __builtin_bit_cast(uint64_t, x); }

static constexpr uint32_t kInfBits = 0x7f800000u, kAbsMask = 0x7fffffffu, kSignBit = 0x80000000u;
static constexpr float kNaN = __builtin_bit_cast(float, 0x7fc00000u);

static constexpr float bf16_value(uint16_t h) { return bits_float(uint32_t(h) << 16); }
// Nearest even; a NaN keeps its sign and upper payload and becomes quiet. Rounding carries into the exponent, so overflow gives
// infinity and subnormals need no case of their own.
static constexpr uint16_t bf16_nearest(float x) {
  const uint32_t u = float_bits(x);
  const uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return uint16_t((u & kAbsMask) > kInfBits ? (u >> 16) | 0x40u : rounded);
}

// The 16 bits that go are a fraction of the last place: adding 16 random bits carries with exactly that probability. From the
// largest finite value on the next place is infinity.
static constexpr uint16_t bf16_stochastic(float x, uint32_t random) {
  const uint32_t u = float_bits(x);
  return uint16_t((u & kAbsMask) > kInfBits ? (u >> 16) | 0x40u : (u + (random & 0xffffu)) >> 16);
}

// NaN becomes quiet, as vcvtph2ps makes it.
static constexpr float f16_value(uint16_t h) {
  const uint32_t em = uint32_t(h & 0x7fffu) << 13;
  const uint32_t normal = em + (112u << 23);
  // Below 2^-14 the mantissa is an integer of units 2^-24: give it the implicit bit and take the bit's value off again.
  const uint32_t subnormal = float_bits(bits_float(em + (113u << 23)) - 0x1p-14f);
  const uint32_t special = em + (224u << 23) + (em > (31u << 23) && !(em & (1u << 22)) ? 1u << 22 : 0u);
  const uint32_t u = em < (1u << 23) ? subnormal : em >= (31u << 23) ? special : normal;
  return bits_float(u | (uint32_t(h & 0x8000u) << 16));
}
// Nearest even, overflow to infinity; NaN quiet with its sign and upper payload, as vcvtps2ph makes it.
static constexpr uint16_t f16_nearest(float x) {
  const uint32_t sign = (float_bits(x) >> 16) & 0x8000u, u = float_bits(x) & kAbsMask;
  const uint32_t normal = (u + 0xfffu + ((u >> 13) & 1u) - (112u << 23)) >> 13;
  // Below 2^-14: adding 0.5 makes the adder round to units of 2^-24.
  const uint32_t subnormal = float_bits(bits_float(u < (113u << 23) ? u : 0u) + 0.5f) - float_bits(0.5f);
  uint32_t h = u < (113u << 23) ? subnormal : normal;
  h = u >= (143u << 23) ? 0x7c00u : h;
  h = u > kInfBits ? 0x7e00u | ((u >> 13) & 0x3ffu) : h;
  return uint16_t(h | sign);
}

// A random number in [0, 1) decides against the fraction of the last place that is cut off: 13 bits of it above 2^-14, below
// that (units of 2^-24) 24 bits. From the largest finite value on the next place is infinity.
static constexpr uint16_t f16_stochastic(float x, uint32_t random) {
  const uint32_t sign = (float_bits(x) >> 16) & 0x8000u, u = float_bits(x) & kAbsMask;
  const uint32_t normal = (u + (random & 0x1fffu) - (112u << 23)) >> 13;
  const float units = bits_float(u < (113u << 23) ? u : 0u) * 0x1p24f;  // exact, below 1024
  const int32_t whole = int32_t(units);
  const uint32_t subnormal = uint32_t(whole) + (float(int32_t(random >> 8)) * 0x1p-24f < units - float(whole) ? 1u : 0u);
  uint32_t h = u < (113u << 23) ? subnormal : normal;
  h = u >= (143u << 23) ? 0x7c00u : h;
  h = u > kInfBits ? 0x7e00u | ((u >> 13) & 0x3ffu) : h;
  return uint16_t(h | sign);
}

// The f32 next to x towards zero, its last bit set where x is not exact: rounding that again to 22 bits or fewer gives what
// rounding x once would have given. From 2^128 on: infinity.
static constexpr float round_to_odd(double x) {
  constexpr uint64_t kRest = (uint64_t{1} << 29) - 1;  // the bits of f64's mantissa that f32's lacks
  const uint64_t u = double_bits(x);
  const double normal = __builtin_bit_cast(double, (u & ~kRest) | ((u & kRest) != 0 ? kRest + 1 : 0));
  // Below 2^-126 f32 counts in units of 2^-149: adding 2^52 leaves that integer in the mantissa.
  const uint64_t sign = u & (uint64_t{1} << 63);
  const double size = __builtin_bit_cast(double, u ^ sign);
  const double units = (size < 0x1p-126 ? size : 0.0) * 0x1p149, near = (units + 0x1p52) - 0x1p52;
  const double whole = near - (near > units ? 1.0 : 0.0);
  const uint64_t odd = double_bits(whole + 0x1p52) | (whole != units ? 1 : 0);
  const double subnormal = (__builtin_bit_cast(double, odd) - 0x1p52) * 0x1p-149;
  return float(size < 0x1p-126 ? __builtin_bit_cast(double, double_bits(subnormal) | sign) : normal);
}
// 64-bit integers beyond 2^53 have more bits than f64: fold the last 11 into one sticky bit first, far below f32's last place.
static constexpr double sticky_double(int64_t x) {
  const int64_t folded = int64_t((uint64_t(x) & ~uint64_t{0x7ff}) | ((x & 0x7ff) ? uint64_t{0x400} : 0));
  const bool small = x >= -(int64_t{1} << 53) && x <= (int64_t{1} << 53);
  return double(small ? x : folded);
}
static constexpr double sticky_double(uint64_t x) {
  const uint64_t folded = (x & ~uint64_t{0x7ff}) | ((x & 0x7ff) ? 0x400 : 0);
  return double(x <= uint64_t{1} << 53 ? x : folded);
}

// Towards zero; what does not fit, and NaN, gives the smallest integer, as x86's cvtt* instructions do and PyTorch there.
static constexpr int64_t truncate_i64(double x) {
  const bool fits = x >= -0x1p63 && x < 0x1p63;
  return int64_t(fits ? x : -0x1p63);
}
// Numbers from 2^63 on too; negative ones count modulo 2^64.
static constexpr uint64_t truncate_u64(double x) {
  const bool upper = x >= 0x1p63 && x < 0x1p64;
  return upper ? uint64_t(int64_t(x - 0x1p63)) | uint64_t{1} << 63 : uint64_t(truncate_i64(x));
}
static constexpr int32_t truncate_i32(double x) {
  const bool fits = x > -0x1p31 - 1 && x < 0x1p31;
  return int32_t(fits ? x : -0x1p31);
}
static constexpr int32_t truncate_i32(float x) {
  const bool fits = x >= -0x1p31f && x < 0x1p31f;
  return int32_t(fits ? x : -0x1p31f);
}

}  // namespace dyadic::inline v1
