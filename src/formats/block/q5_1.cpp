// q5_1: as q4_1 with 5 bits: m = min and d = (max - min) / 31 in f16; codes int((x - m) / d + 0.5), values code d + m. The
// highest bits of the codes lie together in a word of 32.
#include "formats/block/ggml_nibbles.h"

namespace dyadic::DY_ISA {
namespace {

struct Q5 {
  static constexpr int64_t kSize = kGgmlBlock, kBytes = 4 + 4 + kSize / 2, kBatch = 1;

  static void decode(const uint8_t* block, float* out) {
    uint8_t codes[kSize];
    unpack_fives(block + 4, 0, codes);
    scale_codes(codes, kSize, load_f16(block), load_f16(block + 2), out);
  }
  static void encode(const float* in, int64_t, const float*, uint8_t* block) {
    const Range r = range_of(in);
    const float d = (r.high - r.low) / 31, inverse = d != 0 ? 1.0f / d : 0.0f;
    store_f16(d, block);
    store_f16(r.low, block + 2);
    encode_fives(in, &r.low, inverse, 0.5f, block + 4);
  }
  static void poison(const float* in, float, uint8_t* block) {
    uint8_t codes[kSize];
    store_f16(poison_unsigned(in, kSize, codes), block);
    store16(0, block + 2);
    pack_fives(codes, block + 4);
  }
};

}  // namespace

extern constexpr FormatDef q5_1_format = ggml_encoded<Q5>("q5_1", "5-bit blocks of 32 with f16 scale and minimum (ggml)", 5);

}  // namespace dyadic::DY_ISA
