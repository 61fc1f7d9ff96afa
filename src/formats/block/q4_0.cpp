// q4_0: ggml's 4-bit blocks: d = -m / 8 in f16, where m is the element of largest magnitude (the first of equals), so that m
// gets code 0 exactly; codes min(15, int(x / d + 8.5)), values (code - 8) d. Byte j holds element j low and element j + 16
// high. Where 1 / d overflows (d is then 0 in f16), all codes are 0.
#include "formats/block/ggml_nibbles.h"

namespace dyadic::DY_ISA {
namespace {

struct Q4 {
  static constexpr int64_t kSize = kGgmlBlock, kBytes = 2 + kSize / 2, kBatch = 1;

  static void decode(const uint8_t* block, float* out) { decode_halves(block + 2, load_f16(block), -8, out); }
  static void encode(const float* in, int64_t, const float* absmax, uint8_t* block) {
    const float d = first_largest(in, kSize, *absmax) / -8, inverse = d != 0 ? 1.0f / d : 0.0f;
    store_f16(d, block);
    encode_halves(in, nullptr, inverse, 8.5f, block + 2);
  }
  static void poison(const float* in, float absmax, uint8_t* block) {
    uint8_t codes[kSize];
    store_f16(absmax, block);
    poison_codes(in, kSize, 0, 8, 15, codes);  // of a d of +infinity
    pack_halves(codes, block + 2);
  }
};

double decode1(const Format&, uint64_t code) { return double(code & 15) - 8; }
uint64_t encode1(const Format&, double value) {
  const double v = value + 8.5;
  return v < 0 ? 0 : v > 15 ? 15 : uint64_t(v);
}
constexpr FormatDef make() {
  FormatDef def = ggml_encoded<Q4>("q4_0", "4-bit blocks of 32 with an f16 scale (ggml)", 4);
  def.max = 7;
  def.decode1 = decode1;
  def.encode1 = encode1;
  return def;
}

}  // namespace

extern constexpr FormatDef q4_0_format = make();

}  // namespace dyadic::DY_ISA
