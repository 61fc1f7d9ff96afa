// Floats of 8 bits and fewer by their parameters, one element at a time in plain C++: one code in the low bits of a byte.
// Between f32 and a code nothing is rounded twice; f64 and wide integers come rounded to odd (convert.cpp). Their loops are in
// small_float.h.
#pragma once
#include "formats/bits.h"
#include "formats/format.h"

namespace dyadic::DY_ISA {

enum class Special : uint8_t {
  ieee,  // the top exponent holds infinity and NaNs
  fn,    // finite but for one NaN on each side, all bits set
  fnuz,  // finite but for one NaN, where -0 would be; no negative zero
  none,  // finite, all codes are numbers; NaN becomes -0 and -NaN 0, as ml_dtypes has it
};
struct Mini {
  int exponent, mantissa, bias;
  Special special;
  Overflow overflow;      // what Overflow::standard means
  bool nan_ones = false;  // ieee: NaN is written with all bits set, not with the quiet bit alone
};

inline constexpr Mini kF8e4m3fn{4, 3, 7, Special::fn, Overflow::saturate};
inline constexpr Mini kF8e5m2{5, 2, 15, Special::ieee, Overflow::special, true};
inline constexpr Mini kF8e4m3fnuz{4, 3, 8, Special::fnuz, Overflow::special};
inline constexpr Mini kF8e5m2fnuz{5, 2, 16, Special::fnuz, Overflow::special};
inline constexpr Mini kF8e3m4{3, 4, 3, Special::ieee, Overflow::special};
inline constexpr Mini kF6e2m3fn{2, 3, 1, Special::none, Overflow::saturate};
inline constexpr Mini kF6e3m2fn{3, 2, 3, Special::none, Overflow::saturate};
inline constexpr Mini kF4e2m1fn{2, 1, 1, Special::none, Overflow::saturate};
inline constexpr Mini kF4e3m0{3, 0, 3, Special::none, Overflow::saturate};

template <Mini M> struct MiniFloat {
  static constexpr int kBits = 1 + M.exponent + M.mantissa, kShift = 23 - M.mantissa;
  static constexpr uint32_t kSign = 1u << (kBits - 1), kAbs = kSign - 1, kTop = kAbs & ~((1u << M.mantissa) - 1);
  static constexpr uint32_t kNan = M.special == Special::ieee ? (M.nan_ones ? kAbs : kTop | (1u << (M.mantissa - 1)))
                                   : M.special == Special::fn ? kAbs
                                                              : kSign;  // fnuz; none: -0
  static constexpr uint32_t kLargest = M.special == Special::ieee ? kTop - 1 : M.special == Special::fn ? kAbs - 1 : kAbs;
  static constexpr uint32_t kBeyond = M.special == Special::ieee ? kTop : kNan;  // what overflow gives
  static constexpr uint32_t kRebias = uint32_t(127 - M.bias) << 23;              // f32's exponent of the code's exponent 0
  static_assert(kBeyond == kLargest + 1 || M.special == Special::none);
  // The unit of subnormals, and the f32 whose last place is that unit.
  static constexpr float kUnit = bits_float(uint32_t(128 - M.bias - M.mantissa) << 23);
  static constexpr float kAdder = bits_float(uint32_t(151 - M.bias - M.mantissa) << 23);
  static constexpr uint32_t kMinNormal = kRebias + (1u << 23);
  static constexpr uint32_t kHalf = (1u << (kShift - 1)) - 1 - kRebias;  // just below half a last place, and the new bias
  static_assert(kRebias >> kShift << kShift == kRebias && (kRebias >> kShift) % 2 == 0, "ties go to even codes");

  static constexpr float value(uint8_t code) {
    const uint32_t em = code & kAbs;
    const uint32_t subnormal = float_bits(float(int32_t(em)) * kUnit), normal = (em << kShift) + kRebias;
    uint32_t u = em < (1u << M.mantissa) ? subnormal : normal;
    if constexpr (M.special == Special::ieee) u = em >= kTop ? (em > kTop ? 0x7fc00000u : kInfBits) : u;
    if constexpr (M.special == Special::fn) u = em == kAbs ? 0x7fc00000u : u;
    if constexpr (M.special == Special::fnuz) u = em == 0 ? (code & kSign ? 0xffc00000u : 0u) : u;
    return bits_float(u | uint32_t(code & kSign) << (32 - kBits));
  }

  // The code from a magnitude in units of the target, as a number that may lie beyond the largest.
  static constexpr uint8_t finish(uint32_t h, uint32_t x, uint32_t beyond) {
    const uint32_t u = x & kAbsMask;
    uint32_t sign = (x >> 31) << (kBits - 1);
    h = h > kLargest || u >= kInfBits ? beyond : h;
    if constexpr (M.special == Special::fnuz) {
      h = u > kInfBits ? kNan : h;
      return uint8_t(h == 0 || h == kNan ? h : h | sign);
    } else if constexpr (M.special == Special::none) {
      return uint8_t(u > kInfBits ? kNan ^ sign : h | sign);
    } else {
      return uint8_t((u > kInfBits ? kNan : h) | sign);
    }
  }
  static constexpr uint8_t nearest(float value, uint32_t beyond) {
    const uint32_t x = float_bits(value), u = x & kAbsMask;
    const uint32_t normal = (u + kHalf + ((u >> kShift) & 1u)) >> kShift;
    const uint32_t subnormal = float_bits(bits_float(u < kMinNormal ? u : 0u) + kAdder) - float_bits(kAdder);
    return finish(u < kMinNormal ? subnormal : normal, x, beyond);
  }
  // A random number in [0, 1) decides against the fraction of the last place that is cut off.
  static constexpr uint8_t stochastic(float value, uint32_t random, uint32_t beyond) {
    const uint32_t x = float_bits(value), u = x & kAbsMask;
    const uint32_t normal = (u - kRebias + (random & ((1u << kShift) - 1))) >> kShift;
    const float units = bits_float(u < kMinNormal ? u : 0u) * (1 / kUnit);  // exact
    const int32_t whole = int32_t(units);
    const uint32_t subnormal = uint32_t(whole) + (float(int32_t(random >> 8)) * 0x1p-24f < units - float(whole) ? 1u : 0u);
    return finish(u < kMinNormal ? subnormal : normal, x, beyond);
  }

  static constexpr uint32_t beyond(const Round& round) {
    const Overflow o = round.overflow == Overflow::standard ? M.overflow : round.overflow;
    return o == Overflow::saturate || M.special == Special::none ? kLargest : kBeyond;
  }
};

}  // namespace dyadic::DY_ISA
