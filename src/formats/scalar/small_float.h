// The loops of floats of 8 bits and fewer (mini_float.h), on vectors of codes.
#pragma once
#include "formats/block/lanes.h"
#include "formats/scalar/mini_float.h"
#include "formats/scalar/stochastic.h"

namespace dyadic::DY_ISA {

template <Mini M> struct SmallFloat : MiniFloat<M> {
  using Base = MiniFloat<M>;
  using Base::kAbs, Base::kAdder, Base::kBits, Base::kHalf, Base::kLargest, Base::kMinNormal, Base::kNan, Base::kRebias;
  using Base::kShift, Base::kSign, Base::kTop, Base::kUnit;
  using Base::value, Base::nearest, Base::stochastic, Base::beyond;

  struct Magnitudes {  // of the codes 0 .. 7, for lookup8
    float at[16];
  };
  static constexpr Magnitudes magnitudes() {
    Magnitudes m{};
    for (int i = 0; i < 16; ++i) m.at[i] = value(uint8_t(i % 8));
    return m;
  }
  static VF values(VI code) {
#if !DY_ISA_sse4
    if constexpr (kBits == 4 && M.special == Special::none) {
      static constexpr Magnitudes kTable = magnitudes();
      const VF size = lookup8(kTable.at, code);
      return hn::Or(size, hn::BitCast(kF32, hn::ShiftLeft<31>(hn::ShiftRight<3>(code))));
    }
#endif
    const VI em = hn::And(code, splat(kAbs));
    const VI subnormal = hn::BitCast(kI32, hn::Mul(hn::ConvertTo(kF32, em), hn::Set(kF32, kUnit)));
    const VI normal = hn::Add(hn::ShiftLeft<kShift>(em), splat(kRebias));
    VI u = hn::IfThenElse(hn::Gt(splat(1u << M.mantissa), em), subnormal, normal);
    if constexpr (M.special == Special::ieee) {
      u = hn::IfThenElse(hn::Eq(em, splat(kTop)), splat(kInfBits), u);
      u = hn::IfThenElse(hn::Gt(em, splat(kTop)), splat(0x7fc00000u), u);
    }
    if constexpr (M.special == Special::fn) u = hn::IfThenElse(hn::Eq(em, splat(kAbs)), splat(0x7fc00000u), u);
    if constexpr (M.special == Special::fnuz) u = hn::IfThenElse(hn::Eq(code, splat(kSign)), splat(0x7fc00000u), u);
    return hn::BitCast(kF32, hn::Or(u, hn::ShiftLeft<32 - kBits>(hn::And(code, splat(kSign)))));
  }
#if !DY_ISA_sse4
  // By way of f16, whose exponent is wide enough: the code's bits at its place, then one multiplication by a power of two.
  static constexpr bool kByHalf = M.exponent < 5 || M.special == Special::ieee;
  static constexpr hn::ScalableTag<int16_t> kI16{};
  static hn::Vec<hn::ScalableTag<int16_t>> halves(hn::Vec<hn::ScalableTag<int16_t>> code) {
    const auto all = [](uint32_t x) { return hn::Set(kI16, int16_t(x)); };
    const auto em = hn::And(code, all(kAbs));
    auto h = hn::ShiftLeft<10 - M.mantissa>(em);
    if constexpr (M.special == Special::ieee && M.exponent < 5) h = hn::IfThenElse(hn::Eq(em, all(kTop)), all(0x7c00), h);
    if constexpr (M.special == Special::ieee) h = hn::IfThenElse(hn::Gt(em, all(kTop)), all(0x7e00), h);
    if constexpr (M.special == Special::fn) h = hn::IfThenElse(hn::Eq(em, all(kAbs)), all(0x7e00), h);
    if constexpr (M.special == Special::fnuz) h = hn::IfThenElse(hn::Eq(code, all(kSign)), all(0x7e00), h);
    return hn::OrAnd(h, hn::ShiftLeft<16 - kBits>(code), all(0x8000));
  }
  // As many whole pairs of vectors as there are; gives how many elements that was.
  static int64_t decode_halves(const uint8_t* s, float* c, int64_t n) {
    constexpr hn::Rebind<uint8_t, decltype(kI16)> bytes{};
    const VF scale = hn::Set(kF32, bits_float(uint32_t(127 + 15 - M.bias) << 23));
    int64_t i = 0;
    for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
      const auto h = halves(hn::PromoteTo(kI16, hn::LoadU(bytes, s + i))).raw;
#if DY_ISA_avx512
      const VF low{_mm512_cvtph_ps(_mm512_castsi512_si256(h))}, high{_mm512_cvtph_ps(_mm512_extracti64x4_epi64(h, 1))};
#else
      const VF low{_mm256_cvtph_ps(_mm256_castsi256_si128(h))}, high{_mm256_cvtph_ps(_mm256_extracti128_si256(h, 1))};
#endif
      hn::StoreU(hn::Mul(low, scale), kF32, c + i);
      hn::StoreU(hn::Mul(high, scale), kF32, c + i + kLanes);
    }
    return i;
  }
#else
  static constexpr bool kByHalf = false;
  static int64_t decode_halves(const uint8_t*, float*, int64_t) { return 0; }
#endif
  static VI nearest_codes(VF value, int32_t beyond) {
    const VI x = hn::BitCast(kI32, value), u = hn::And(x, splat(kAbsMask));
    const VI up = hn::Add(hn::Add(u, splat(kHalf)), hn::And(hn::ShiftRight<kShift>(u), splat(1)));
    const auto small = hn::Gt(splat(kMinNormal), u);
    const VF sum = hn::Add(hn::BitCast(kF32, u), hn::Set(kF32, kAdder));  // of others than small ones without meaning
    const VI subnormal = hn::Sub(hn::BitCast(kI32, sum), splat(float_bits(kAdder)));
    VI h = hn::IfThenElse(small, subnormal, hn::ShiftRight<kShift>(up));
    h = hn::Min(h, hn::Set(kI32, beyond));  // which is the largest code or the one after it
    const auto nan = hn::Gt(u, splat(kInfBits));
    const VI shifted = hn::ShiftRight<32 - kBits>(x);
    if constexpr (M.special == Special::none) {
      const VI sign = hn::And(shifted, splat(kSign));
      return hn::IfThenElse(nan, hn::Xor(splat(kNan), sign), hn::Or(h, sign));
    }
    h = hn::IfThenElse(nan, splat(kNan), h);
    if constexpr (M.special == Special::fnuz)
      return hn::IfThenElse(hn::Eq(hn::And(h, splat(kAbs)), hn::Zero(kI32)), h, hn::OrAnd(h, shifted, splat(kSign)));
    return hn::OrAnd(h, shifted, splat(kSign));
  }
  static VI splat(uint32_t x) { return hn::Set(kI32, int32_t(x)); }

  static void decode(const void* stored, void* computed, int64_t n) {
    const uint8_t* __restrict__ s = static_cast<const uint8_t*>(stored);
    float* __restrict__ c = static_cast<float*>(computed);
    constexpr hn::Rebind<uint8_t, I32> bytes{};
    int64_t i = 0;
    if constexpr (kByHalf) i = decode_halves(s, c, n);
    for (; i + kLanes <= n; i += kLanes) hn::StoreU(values(hn::PromoteTo(kI32, hn::LoadU(bytes, s + i))), kF32, c + i);
    for (; i < n; ++i) c[i] = value(s[i]);
  }
  static void encode(const void* computed, void* stored, int64_t n, const Round& round) {
    const float* __restrict__ c = static_cast<const float*>(computed);
    uint8_t* __restrict__ s = static_cast<uint8_t*>(stored);
    const uint32_t over = beyond(round);
    if (round.mode == Rounding::stochastic)
      return encode_stochastic(c, s, n, round, [over](float x, uint32_t random) { return stochastic(x, random, over); });
    int64_t i = 0;
    const auto codes = [&](int64_t at) { return nearest_codes(hn::LoadU(kF32, c + i + at * kLanes), int32_t(over)); };
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) store_bytes(codes(0), codes(1), codes(2), codes(3), s + i);
    for (; i < n; ++i) s[i] = nearest(c[i], over);
  }
  static double decode1(const Format&, uint64_t code) { return double(value(uint8_t(code))); }
  static uint64_t encode1(const Format&, double x) { return nearest(round_to_odd(x), beyond(Round{})); }

  static constexpr FormatDef format(const char* name, const char* long_name, const char* doc) {
    FormatDef d{
        .name = name, .long_name = long_name, .doc = doc, .kind = Kind::floating, .compute = Compute::f32, .bits = kBits};
    const uint32_t top = kLargest >> M.mantissa, rest = kLargest & ((1u << M.mantissa) - 1);
    d.exponent_bits = M.exponent, d.mantissa_bits = M.mantissa, d.bias = M.bias;
    d.max = double(bits_float(kRebias + (top << 23))) * (1 + double(rest) / (1u << M.mantissa));
    d.min_normal = double(bits_float(kMinNormal));
    d.min_subnormal = M.mantissa ? double(kUnit) : d.min_normal;
    d.eps = 1.0 / (1u << M.mantissa);
    d.has_inf = M.special == Special::ieee;
    d.has_nan = M.special != Special::none;
    d.decode = decode, d.encode = encode, d.decode1 = decode1, d.encode1 = encode1;
    return d;
  }
};

}  // namespace dyadic::DY_ISA
