// The dynamic 8-bit code: a sign (signed codebook), a decade counted in unary and a linear fraction (Dettmers, "8-Bit
// Approximations for Parallelism in Deep Learning", 2015; the codebooks are those of bitsandbytes' create_dynamic_map). Blocks
// share one f32 absmax. Tile functions for kernels that keep their state in it (8-bit AdamW) and for double quantization.
//
// The codebook, by magnitude index m: 0, then for decade i = 0..6 the n = 2^i (unsigned: 2^(i+1)) values
//   10^(i-6) (0.1 + 0.9 (j + 1/2) / n) = (2n + 18j + 9) / (20 n 10^(6-i)),  j = m - n,
// then 1. Signed: code = 127 + m or 127 - m, so -1 is not representable (the lowest is -0.99297). Unsigned: code = m - 1, and
// zero is m = 1. Values are the decimal ones rounded once to f32; PyTorch computes the same in f32 and is up to an ulp off,
// which differs between its versions and devices.
//
// Encoding: the nearest code. A value within 2^-16 of a code's width from the midpoint of two may get either, the same on every
// machine: products and sums are rounded one by one, never fused.
#pragma once
#include "formats/block/dynamic_code.h"
#include "formats/block/lanes.h"

namespace dyadic::DY_ISA {

template <bool kSigned> struct Dynamic8 {
  static constexpr const DynamicTables& kTables = kDynamicTables<kSigned>;

  // The values (before the block's scale) of kLanes codes.
  static VF decode_lanes(const uint8_t* codes) {
#if DY_ISA_sse4
    return table_values(codes);
#else
    const Fraction f(codes);
    // Exactly the rounded quotient for all 256 codes (tested against kTables.value).
    return f.with_sign(
        hn::MulAdd(f.numerator, lookup8(kTables.inverse_high, f.at), hn::Mul(f.numerator, lookup8(kTables.inverse_low, f.at))));
#endif
  }

  // The same times the block's scale, for kernels that compute with it at once: at most an ulp from the product of the two.
  class Scaled {
   public:
#if DY_ISA_sse4
    explicit Scaled(float scale) : scale(hn::Set(kF32, scale)) {}
    VF operator()(const uint8_t* codes) const { return hn::Mul(table_values(codes), scale); }

   private:
    VF scale;
#else
    explicit Scaled(float scale) : inverse(hn::Mul(hn::LoadU(kF32, kTables.inverse_high), hn::Set(kF32, scale))) {}
    VF operator()(const uint8_t* codes) const {
      const Fraction f(codes);
      return f.with_sign(hn::Mul(f.numerator, lookup8(inverse, f.at)));
    }

   private:
    VF inverse;
#endif
  };

  // The codes of four vectors of normalized values (finite, |x| <= 1 but for rounding), packed. Unsigned: negative values give
  // zero.
  static Bytes encode_packed(VF x0, VF x1, VF x2, VF x3) {
    if constexpr (!kSigned) {
      return pack_bytes(index(floor_of(x0)), index(floor_of(x1)), index(floor_of(x2)), index(floor_of(x3)));
    } else {
      constexpr hn::Repartition<uint8_t, I32> bytes{};
      const Bytes m = pack_bytes(index(hn::Abs(x0)), index(hn::Abs(x1)), index(hn::Abs(x2)), index(hn::Abs(x3)));
      const auto minus = hn::RebindMask(
          bytes, pack_signs(hn::BitCast(kI32, x0), hn::BitCast(kI32, x1), hn::BitCast(kI32, x2), hn::BitCast(kI32, x3)));
      const Bytes zero = hn::Set(bytes, 127);
      return hn::IfThenElse(minus, hn::SaturatedSub(zero, m), hn::SaturatedAdd(zero, m));
    }
  }

  // n codes of one block.
  static void decode(const uint8_t* codes, float absmax, float* out, int64_t n) {
    const VF scale = hn::Set(kF32, absmax);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) hn::StoreU(hn::Mul(decode_lanes(codes + i), scale), kF32, out + i);
    for (; i < n; ++i) out[i] = kTables.value[codes[i]] * absmax;
  }

  static float absmax(const float* in, int64_t n) { return bits_absmax(absmax_bits(in, n)); }

  // Whole fours of vectors, of a block whose 1 / absmax is ordinary; how many elements that were.
  static int64_t encode_fours(const float* in, uint8_t* codes, int64_t n, VF inverse) {
    int64_t i = 0;
    auto x = [&](int64_t k) { return hn::Mul(hn::LoadU(kF32, in + i + k * kLanes), inverse); };
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) store_packed(encode_packed(x(0), x(1), x(2), x(3)), codes + i);
    return i;
  }

  // n values (a part of a block is fine) with the block's absmax; Note [Poisoned blocks].
  static void encode(const float* in, uint8_t* codes, int64_t n, float absmax) {
    if (!(absmax >= kTiny) || !finite(absmax)) return encode_rare(in, codes, n, absmax);
    const VF inverse = hn::Set(kF32, 1.0f / absmax);
    const int64_t i = encode_fours(in, codes, n, inverse);
    if (i == n) return;
    alignas(64) float rest[4 * kLanes] = {};
    alignas(64) uint8_t got[4 * kLanes];
    for (int64_t j = i; j < n; ++j) rest[j - i] = in[j];
    encode_fours(rest, got, 4 * kLanes, inverse);
    for (int64_t j = i; j < n; ++j) codes[j] = got[j - i];
  }
  // Both steps for a whole block: gives its absmax.
  static float encode_block(const float* in, uint8_t* codes, int64_t n) {
    const float scale = absmax(in, n);
    encode(in, codes, n, scale);
    return scale;
  }

 private:
#if DY_ISA_sse4
  static VF table_values(const uint8_t* codes) {
    alignas(16) float v[kLanes];
    for (int64_t i = 0; i < kLanes; ++i) v[i] = kTables.value[codes[i]];
    return hn::Load(kF32, v);
  }
#else
  // kLanes codes' values as numerator / d, d by class. Everything is an integer below 2^24: exact, fused or not.
  struct Fraction {
    VF centred, numerator;  // centred: of signed codes, whose sign is the value's
    VI at;

    explicit Fraction(const uint8_t* codes) {
      const hn::Rebind<uint8_t, I32> bytes;
      centred = hn::ConvertTo(kF32, hn::PromoteTo(kI32, hn::LoadU(bytes, codes)));
      if constexpr (kSigned) centred = hn::Sub(centred, hn::Set(kF32, 127.0f));
      const VF magnitude = kSigned ? hn::Abs(centred) : centred;
      // Unsigned: m = code + 1.
      const VF odd = hn::MulAdd(magnitude, hn::Set(kF32, 2.0f), hn::Set(kF32, kSigned ? 1.0f : 3.0f));
      at = hn::ShiftRight<23>(hn::BitCast(kI32, odd));
      numerator = hn::MulSub(odd, hn::Set(kF32, 9.0f), lookup8(kTables.q, at));
    }
    VF with_sign(VF v) const {
      if constexpr (!kSigned) return v;
      return hn::OrAnd(v, centred, hn::BitCast(kF32, hn::Set(kI32, int32_t(kSignBit))));
    }
  };
#endif

  // Far below the first midpoint, negative values too: as integers, so in one instruction.
  static VF floor_of(VF x) { return hn::BitCast(kF32, hn::Max(hn::BitCast(kI32, x), hn::Set(kI32, kLowestOctave << 23))); }

  // By which a magnitude's code differs from zero's.
  static VI index(VF y) {
    VI decade = low_decade(y);
    decade = count_if(decade, hn::Ge(y, lookup8(kTables.next, decade)));
    const VF line = hn::Add(hn::Mul(y, lookup8(kTables.a, decade)), lookup8(kTables.b, decade));
    return truncate(hn::Min(line, lookup8(kTables.top, decade)));
  }

  // The decade of y >= 0, or the one below.
  static VI low_decade(VF y) {
#if DY_ISA_avx512
    // That of the octave's begin: no octave meets two decades' ends.
    const VI octave = hn::ShiftRight<23>(hn::BitCast(kI32, kSigned ? floor_of(y) : y));
    return VI{
        _mm512_permutex2var_epi32(_mm512_loadu_si512(kTables.decade), octave.raw, _mm512_loadu_si512(kTables.decade + 16))};
#else
    // The bit pattern is a piecewise linear log2, at most 0.086 low: half a decade below it the decade found is right or one
    // low.
    const VF log10 =
        hn::Add(hn::Mul(hn::ConvertTo(kF32, hn::BitCast(kI32, y)), hn::Set(kF32, float(0.30102999566398120 / 8388608))),
                hn::Set(kF32, float(6.5 - 127 * 0.30102999566398120)));
    return truncate(hn::Max(log10, hn::Zero(kF32)));
#endif
  }

  [[gnu::noinline]] static void encode_rare(const float* in, uint8_t* codes, int64_t n, float absmax) {
    constexpr uint8_t kZero = kSigned ? 127 : 0;
    if (absmax > 0 && finite(absmax)) {
      float lifted[64];
      for (int64_t i = 0; i < n; i += 64) {
        const int64_t m = n - i < 64 ? n - i : 64;
        for (int64_t j = 0; j < m; ++j) lifted[j] = in[i + j] * kLift;
        encode(lifted, codes + i, m, absmax * kLift);
      }
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      const bool infinite = (float_bits(in[i]) & kAbsMask) == kInfBits;
      codes[i] = !infinite ? kZero : in[i] > 0 ? 255 : 0;
    }
  }
};

using SignedDynamic8 = Dynamic8<true>;
using UnsignedDynamic8 = Dynamic8<false>;

}  // namespace dyadic::DY_ISA
