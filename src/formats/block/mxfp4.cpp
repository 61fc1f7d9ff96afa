// mxfp4: OCP's MX format of e2m1 elements ("OCP Microscaling Formats (MX) Specification" 1.0), in ggml's layout: blocks of 32,
// a scale 2^(e - 127) of one byte, codes in the halves of q4_0. e is floor(log2(absmax)) - 2 + 127 with log2 rounded to f32, as
// ggml's; the code is the nearest value's, the smaller of two as near. Where e would be negative (absmax < 2^-125), which C
// leaves undefined, it is 0. e = 255 is NaN as OCP has it (ggml reads 2^127 there but never writes it). There is no infinity:
// poisoned blocks are NaN throughout.
#include "formats/block/ggml_nibbles.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int8_t kTwice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};  // e2m1's values, doubled

// Half the scale: 2^(e - 128).
float half_scale(int e) { return e == 255 ? kNaN : bits_float(e < 2 ? 0x00200000u << e : uint32_t(e - 1) << 23); }

// floor(log2(x)) where log2 is the f32 nearest to it: just below 2^k it is k, for up to 44 numbers.
int floor_log2(float x) {
  const int lifted = x < 0x1p-126f ? 24 : 0;
  const uint32_t u = float_bits(lifted ? x * 0x1p24f : x);
  const int exponent = int(u >> 23) - 127 - lifted, missing = int(0x800000u - (u & 0x7fffffu));  // of 2^23 to the next power
  if (missing > 64) return exponent;
  const double part = missing * 0x1p-24, log = exponent + 1 - part * (1 + part / 2) * 1.4426950408889634;
  return float(log) == float(exponent + 1) ? exponent + 1 : exponent;
}

struct Mx {
  static constexpr int64_t kSize = kGgmlBlock, kBytes = 1 + kSize / 2, kBatch = 1;

  static void decode(const uint8_t* block, float* out) {
    int8_t values[kSize];
    look_up_halves(block + 1, kTwice, values);
    scale_codes(values, kSize, half_scale(block[0]), out);
  }
  static void encode(const float* in, int64_t, const float* absmax, uint8_t* block) {
    const int exponent = *absmax > 0 ? floor_log2(*absmax) - 2 + 127 : 0, e = exponent < 0 ? 0 : exponent;
    const float d = half_scale(e);
    block[0] = uint8_t(e);
    uint8_t codes[kSize];
    for (int64_t i = 0; i < kSize; i += kLanes) {
      const VF x = hn::LoadU(kF32, in + i), size = hn::Abs(x);
      VF least = size;
      VI code = hn::Zero(kI32);
      for (int k = 1; k < 8; ++k) {
        const VF error = hn::Abs(hn::Sub(hn::Set(kF32, float(kTwice[k]) * d), size));
        const auto nearer = hn::Lt(error, least);
        least = hn::IfThenElse(nearer, error, least);
        code = hn::IfThenElse(hn::RebindMask(kI32, nearer), hn::Set(kI32, k), code);
      }
      const VI negative = hn::Or(code, hn::Set(kI32, 8));
      const auto minus = hn::And(hn::Lt(x, hn::Zero(kF32)), hn::RebindMask(kF32, hn::Ne(code, hn::Zero(kI32))));
      store_bytes(hn::IfThenElse(hn::RebindMask(kI32, minus), negative, code), codes + i);
    }
    pack_halves(codes, block + 1);
  }
  static void poison(const float*, float, uint8_t* block) {
    block[0] = 255;
    __builtin_memset(block + 1, 0, kSize / 2);
  }
};

constexpr FormatDef make() {
  FormatDef def = ggml_encoded<Mx>("mxfp4", "4-bit floats (e2m1) in blocks of 32 with a power of two (OCP MX, ggml)", 4);
  def.defaults.scale = &detail::u8;
  return def;
}

}  // namespace

extern constexpr FormatDef mxfp4_format = make();

}  // namespace dyadic::DY_ISA
