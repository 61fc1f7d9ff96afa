// q4_1: ggml's 4-bit blocks with a minimum: m = min and d = (max - min) / 15, both in f16; codes min(15, int((x - m) / d +
// 0.5)) of the unrounded m and d, values code d + m. Where max - min overflows or 1 / d does, codes are 0.
#include "formats/block/ggml_nibbles.h"

namespace dyadic::DY_ISA {
namespace {

struct Q4 {
  static constexpr int64_t kSize = kGgmlBlock, kBytes = 4 + kSize / 2, kBatch = 1;

  static void decode(const uint8_t* block, float* out) {
    uint8_t codes[kSize];
    unpack_halves(block + 4, codes);
    scale_codes(codes, kSize, load_f16(block), load_f16(block + 2), out);
  }
  static void encode(const float* in, int64_t, const float*, uint8_t* block) {
    const Range r = range_of(in);
    const float d = (r.high - r.low) / 15, inverse = d != 0 ? 1.0f / d : 0.0f;
    store_f16(d, block);
    store_f16(r.low, block + 2);
    encode_halves(in, &r.low, inverse, 0.5f, block + 4);
  }
  static void poison(const float* in, float, uint8_t* block) {
    uint8_t codes[kSize];
    store_f16(poison_unsigned(in, kSize, codes), block);
    store16(0, block + 2);
    pack_halves(codes, block + 4);
  }
};

}  // namespace

extern constexpr FormatDef q4_1_format = ggml_encoded<Q4>("q4_1", "4-bit blocks of 32 with f16 scale and minimum (ggml)", 4);

}  // namespace dyadic::DY_ISA
