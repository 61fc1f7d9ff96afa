// Vectors of bytes, and of the unsigned numbers of a width. Only for files that are compiled per instruction set.
#pragma once
#include "base/simd/simd.h"

namespace dyadic::DY_ISA {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr hn::ScalableTag<uint8_t> kBytes;
inline constexpr int64_t kVector = HWY_LANES(uint8_t);

template <int64_t W> struct Unsigned;
template <> struct Unsigned<1> : hn::ScalableTag<uint8_t> {};
template <> struct Unsigned<2> : hn::ScalableTag<uint16_t> {};
template <> struct Unsigned<4> : hn::ScalableTag<uint32_t> {};
template <> struct Unsigned<8> : hn::ScalableTag<uint64_t> {};

}  // namespace dyadic::DY_ISA
