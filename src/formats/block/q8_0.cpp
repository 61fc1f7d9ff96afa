// q8_0: ggml's 8-bit blocks: d = absmax / 127 in f16, 32 codes x / d rounded half away from zero.
#include "formats/block/ggml.h"

namespace dyadic::DY_ISA {
namespace {

struct Q8 {
  static constexpr int64_t kBytes = 2 + kGgmlBlock;
  static constexpr int8_t kZero = 0, kLowest = -127, kHighest = 127;

  static void decode(const uint8_t* codes, float d, float* out) {
    constexpr hn::Rebind<int8_t, I32> bytes{};
    const VF scale = hn::Set(kF32, d);
    for (int64_t i = 0; i < kGgmlBlock; i += kLanes) {
      const VI code = hn::PromoteTo(kI32, hn::LoadU(bytes, reinterpret_cast<const int8_t*>(codes) + i));
      hn::StoreU(hn::Mul(hn::ConvertTo(kF32, code), scale), kF32, out + i);
    }
  }
  static float scale(const float*, float absmax) { return absmax / 127; }
  // C's roundf: the fraction is exact, so a half is one.
  static void encode(const float* in, VF inverse, uint8_t* codes) {
    constexpr hn::Rebind<int8_t, I32> bytes{};
    for (int64_t i = 0; i < kGgmlBlock; i += kLanes) {
      const VF v = hn::Mul(hn::LoadU(kF32, in + i), inverse), size = hn::Abs(v);
      const VI whole = truncate(size);
      const VF rest = hn::Sub(size, hn::ConvertTo(kF32, whole));
      const VI rounded = count_if(whole, hn::Ge(rest, hn::Set(kF32, 0.5f)));
      const VI sign = hn::ShiftRight<31>(hn::BitCast(kI32, v));
      hn::StoreU(hn::DemoteTo(bytes, hn::Sub(hn::Xor(rounded, sign), sign)), bytes, reinterpret_cast<int8_t*>(codes) + i);
    }
  }
  static void pack(const int8_t* codes, uint8_t* out) { __builtin_memcpy(out, codes, kGgmlBlock); }
};

double decode1(const Format&, uint64_t code) { return int8_t(code); }
uint64_t encode1(const Format&, double value) {
  const double size = value < 0 ? -value : value;
  const int whole = size < 127 ? int(size + 0.5) : 127;
  return uint8_t(value < 0 ? -whole : whole);
}

}  // namespace

extern constexpr FormatDef q8_0_format = {
    .name = "q8_0",
    .doc = "8-bit blocks of 32 with an f16 scale (ggml)",
    .kind = Kind::scaled,
    .compute = Compute::f32,
    .bits = 8,
    .max = 127,
    .defaults = {.granularity = Granularity::group, .block = 32, .scale = &detail::f16},
    .planes = ggml_planes,
    .decode_range = Ggml<Q8>::decode_range,
    .encode_all = Ggml<Q8>::encode_all,
    .decode1 = decode1,
    .encode1 = encode1,
};

}  // namespace dyadic::DY_ISA
