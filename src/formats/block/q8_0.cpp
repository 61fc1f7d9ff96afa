// q8_0: ggml's 8-bit blocks: d = absmax / 127 in f16, 32 codes x / d rounded half away from zero. Where 1 / d overflows (d is
// then 0 in f16), all codes are 0.
#include "formats/block/ggml.h"

namespace dyadic::DY_ISA {
namespace {

struct Q8 {
  static constexpr int64_t kSize = kGgmlBlock, kBytes = 2 + kSize, kBatch = 1;

  static void decode(const uint8_t* block, float* out) {
    scale_codes(reinterpret_cast<const int8_t*>(block + 2), kSize, load_f16(block), out);
  }
  // C's roundf: the fraction is exact, so a half is one.
  static void encode(const float* in, int64_t, const float* absmax, uint8_t* block) {
    constexpr hn::Rebind<int8_t, I32> bytes{};
    const float d = *absmax / 127, inverse = d != 0 ? 1.0f / d : 0.0f;
    store_f16(d, block);
    if (!finite(inverse)) return void(__builtin_memset(block + 2, 0, kSize));
    const VF scale = hn::Set(kF32, inverse);
    for (int64_t i = 0; i < kSize; i += kLanes) {
      const VF v = hn::Mul(hn::LoadU(kF32, in + i), scale), size = hn::Abs(v);
      const VI whole = truncate(size);
      const VF rest = hn::Sub(size, hn::ConvertTo(kF32, whole));
      const VI rounded = count_if(whole, hn::Ge(rest, hn::Set(kF32, 0.5f)));
      const VI sign = hn::ShiftRight<31>(hn::BitCast(kI32, v));
      hn::StoreU(hn::DemoteTo(bytes, hn::Sub(hn::Xor(rounded, sign), sign)), bytes, reinterpret_cast<int8_t*>(block) + 2 + i);
    }
  }
  static void poison(const float* in, float absmax, uint8_t* block) {
    store_f16(absmax, block);
    poison_codes(in, kSize, -127, 0, 127, block + 2);
  }
};

double decode1(const Format&, uint64_t code) { return int8_t(code); }
uint64_t encode1(const Format&, double value) {
  const double size = value < 0 ? -value : value;
  const int whole = size < 127 ? int(size + 0.5) : 127;
  return uint8_t(value < 0 ? -whole : whole);
}
constexpr FormatDef make() {
  FormatDef def = ggml_encoded<Q8>("q8_0", "8-bit blocks of 32 with an f16 scale (ggml)", 8);
  def.max = 127;
  def.decode1 = decode1;
  def.encode1 = encode1;
  return def;
}

}  // namespace

extern constexpr FormatDef q8_0_format = make();

}  // namespace dyadic::DY_ISA
