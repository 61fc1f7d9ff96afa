// The two 8-bit floats that serve as scales, one element at a time; and the elements of FloatGroup.
#pragma once
#include "formats/scalar/e8m0.h"
#include "formats/scalar/small_float.h"

namespace dyadic::DY_ISA {

using E4m3 = SmallFloat<kF8e4m3fn>;

static inline float e4m3_value(uint8_t code) { return E4m3::value(code); }
static inline uint8_t e4m3_code(float x) { return E4m3::nearest(x, E4m3::kLargest); }

// A small float as an element: saturates.
template <Mini M> struct FloatElement : SmallFloat<M> {
  using Base = SmallFloat<M>;
  static constexpr float kLargest = bits_float(Base::kRebias + (Base::kLargest >> M.mantissa << 23) +
                                               ((Base::kLargest & ((1u << M.mantissa) - 1)) << Base::kShift));
  static constexpr uint8_t kZero = 0;
  static VI codes(VF x) { return Base::nearest_codes(x, int32_t(Base::kLargest)); }
  static uint8_t code(float x) { return Base::nearest(x, Base::kLargest); }
};

}  // namespace dyadic::DY_ISA
