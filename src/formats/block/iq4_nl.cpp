// iq4_nl: ggml's 4-bit blocks of 32 over uneven values (iq4.h): an f16 scale and 16 bytes of codes, in the halves of q4_0. The
// codes are those nearest at the scale of the search before it is rounded to f16.
#include "formats/block/iq4.h"

namespace dyadic::DY_ISA {
namespace {

struct Iq4 {
  static constexpr int64_t kSize = kGgmlBlock, kBytes = 2 + kSize / 2, kBatch = kLanes;

  static void decode(const uint8_t* block, float* out) { iq4_decode(block + 2, load_f16(block), out); }
  static void encode(const float* in, int64_t count, const float*, uint8_t* blocks) {
    float scale[kLanes];
    iq4_scales(in, count, scale);
    for (int64_t i = 0; i < count; ++i) {
      uint8_t codes[kSize];
      iq4_codes(in + i * kSize, scale[i], codes);
      store_f16(scale[i], blocks + i * kBytes);
      pack_halves(codes, blocks + i * kBytes + 2);
    }
  }
  // No value is 0, so of d = infinity finite elements become infinite too, rather than NaN: the whole block is NaN.
  static void poison(const float*, float, uint8_t* block) {
    store_f16(kNaN, block);
    __builtin_memset(block + 2, 0x88, kSize / 2);
  }
};

}  // namespace

extern constexpr FormatDef iq4_nl_format = ggml_encoded<Iq4>("iq4_nl", "4-bit blocks of 32 over uneven values (ggml)", 4);

}  // namespace dyadic::DY_ISA
