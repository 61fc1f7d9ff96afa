// q4_0: ggml's 4-bit blocks: d = -m / 8 in f16, where m is the element of largest magnitude (the first of equals), so that m
// gets code 0 exactly; codes min(15, int(x / d + 8.5)), values (code - 8) d. Byte j holds element j low and element j + 16
// high.
#include "formats/block/ggml.h"

namespace dyadic::DY_ISA {
namespace {

struct Q4 {
  static constexpr int64_t kBytes = 2 + kGgmlBlock / 2;
  // A poisoned block's d is +infinity: codes below 8 are negative.
  static constexpr int8_t kZero = 8, kLowest = 0, kHighest = 15;

  static void decode(const uint8_t* packed, float d, float* out) {
    constexpr hn::Rebind<uint8_t, I32> bytes{};
    const VF scale = hn::Set(kF32, d);
    const VI low = hn::Set(kI32, 15), eight = hn::Set(kI32, 8);
    for (int64_t i = 0; i < kGgmlBlock / 2; i += kLanes) {
      const VI pair = hn::PromoteTo(kI32, hn::LoadU(bytes, packed + i));
      hn::StoreU(hn::Mul(hn::ConvertTo(kF32, hn::Sub(hn::And(pair, low), eight)), scale), kF32, out + i);
      hn::StoreU(hn::Mul(hn::ConvertTo(kF32, hn::Sub(hn::ShiftRight<4>(pair), eight)), scale), kF32, out + kGgmlBlock / 2 + i);
    }
  }
  static float scale(const float* in, float absmax) {
    const VF largest = hn::Set(kF32, absmax);
    for (int64_t i = 0; i < kGgmlBlock; i += kLanes) {
      const intptr_t at = hn::FindFirstTrue(kF32, hn::Eq(hn::Abs(hn::LoadU(kF32, in + i)), largest));
      if (at >= 0) return in[i + at] / -8;
    }
    return 0;
  }
  static void encode(const float* in, VF inverse, uint8_t* out) {
    auto code = [&](const float* p) {
      return hn::Min(truncate(hn::Add(hn::Mul(hn::LoadU(kF32, p), inverse), hn::Set(kF32, 8.5f))), hn::Set(kI32, 15));
    };
    for (int64_t i = 0; i < kGgmlBlock / 2; i += kLanes)
      store_bytes(hn::Or(code(in + i), hn::ShiftLeft<4>(code(in + kGgmlBlock / 2 + i))), out + i);
  }
  static void pack(const int8_t* codes, uint8_t* out) {
    for (int j = 0; j < 16; ++j) out[j] = uint8_t(codes[j] | codes[j + 16] << 4);
  }
};

double decode1(const Format&, uint64_t code) { return double(code & 15) - 8; }
uint64_t encode1(const Format&, double value) {
  const double v = value + 8.5;
  return v < 0 ? 0 : v > 15 ? 15 : uint64_t(v);
}

}  // namespace

extern constexpr FormatDef q4_0_format = {
    .name = "q4_0",
    .doc = "4-bit blocks of 32 with an f16 scale (ggml)",
    .kind = Kind::scaled,
    .compute = Compute::f32,
    .bits = 4,
    .max = 7,
    .defaults = {.granularity = Granularity::group, .block = 32, .scale = &detail::f16},
    .planes = ggml_planes,
    .decode_range = Ggml<Q4>::decode_range,
    .encode_all = Ggml<Q4>::encode_all,
    .decode1 = decode1,
    .encode1 = encode1,
};

}  // namespace dyadic::DY_ISA
