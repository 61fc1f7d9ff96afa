// mxfp4: OCP's MX format of e2m1 elements ("OCP Microscaling Formats (MX) Specification" 1.0), in ggml's layout: blocks of 32,
// a scale 2^(e - 127) of one byte, codes in the halves of q4_0. e is floor(log2(absmax)) - 2 + 127 with log2 rounded to f32, as
// ggml's; the code is the nearest value's, the smaller of two as near. Where e would be negative (absmax < 2^-125), which C
// leaves undefined, it is 0. e = 255 is NaN as OCP has it (ggml reads 2^127 there but never writes it). There is no infinity:
// poisoned blocks are NaN throughout.
#include "formats/block/codebook4.h"
#include "formats/block/ggml_nibbles.h"

namespace dyadic::DY_ISA {
namespace {

struct Mx {
  static constexpr int64_t kSize = kGgmlBlock, kBytes = 1 + kSize / 2, kBatch = 1;

  static void decode(const uint8_t* block, float* out) {
    int8_t values[kSize];
    look_up_halves(block + 1, kMxTwice, values);
    scale_codes(values, kSize, mx_half_scale(block[0]), out);
  }
  static void encode(const float* in, int64_t, const float* absmax, uint8_t* block) {
    const int exponent = *absmax > 0 ? mx_floor_log2(*absmax) - 2 + 127 : 0, e = exponent < 0 ? 0 : exponent;
    const float d = mx_half_scale(e);
    block[0] = uint8_t(e);
    uint8_t codes[kSize];
    for (int64_t i = 0; i < kSize; i += kLanes) {
      const VF x = hn::LoadU(kF32, in + i), size = hn::Abs(x);
      VF least = size;
      VI code = hn::Zero(kI32);
      for (int k = 1; k < 8; ++k) {
        const VF error = hn::Abs(hn::Sub(hn::Set(kF32, float(kMxTwice[k]) * d), size));
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
