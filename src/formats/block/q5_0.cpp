// q5_0: as q4_0 with 5 bits: d = -m / 16 in f16, m the element of largest magnitude; codes min(31, int(x / d + 16.5)), values
// (code - 16) d. The highest bits of the codes lie together in a word of 32.
#include "formats/block/ggml_nibbles.h"

namespace dyadic::DY_ISA {
namespace {

struct Q5 {
  static constexpr int64_t kSize = kGgmlBlock, kBytes = 2 + 4 + kSize / 2, kBatch = 1;

  static void decode(const uint8_t* block, float* out) {
    uint8_t codes[kSize];
    unpack_fives(block + 2, 16, codes);
    scale_codes(reinterpret_cast<const int8_t*>(codes), kSize, load_f16(block), out);
  }
  static void encode(const float* in, int64_t, const float* absmax, uint8_t* block) {
    const float d = first_largest(in, kSize, *absmax) / -16, inverse = d != 0 ? 1.0f / d : 0.0f;
    store_f16(d, block);
    encode_fives(in, nullptr, inverse, 16.5f, block + 2);
  }
  static void poison(const float* in, float absmax, uint8_t* block) {
    uint8_t codes[kSize];
    store_f16(absmax, block);
    poison_codes(in, kSize, 0, 16, 31, codes);
    pack_fives(codes, block + 2);
  }
};

}  // namespace

extern constexpr FormatDef q5_0_format = ggml_encoded<Q5>("q5_0", "5-bit blocks of 32 with an f16 scale (ggml)", 5);

}  // namespace dyadic::DY_ISA
