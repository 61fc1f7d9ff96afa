// iq1_s: ggml's super-blocks of 256 at 1.56 bits, decoded only (iq1.h). Bytes: d in f16, the low 8 bits of 32 indices, then a
// word for each 32 elements: 4 times the upper 3 bits of an index, 3 bits of scale s, the direction of the shift. Values: d (2
// s + 1) (entry + 1/8), or - 1/8.
#include "formats/block/iq1.h"

namespace dyadic::DY_ISA {
namespace {

struct Iq1 {
  static constexpr int64_t kSize = kSuper, kBytes = 50;
  static void decode(const uint8_t* block, float* out) {
    alignas(64) int8_t codes[kSize];
    float scale[8];
    const float d = load_f16(block);
    for (int j = 0; j < 8; ++j) {
      const int word = load16(block + 34 + 2 * j);
      for (int l = 0; l < 4; ++l)
        iq1_codes(block[2 + 4 * j + l] | (word >> (3 * l) & 7) << 8, word & 0x8000, codes + 32 * j + 8 * l);
      scale[j] = d * float(2 * (word >> 12 & 7) + 1) * 0.125f;
    }
    scale_groups(codes, 32, scale, out);
  }
};

}  // namespace

extern constexpr FormatDef iq1_s_format =
    ggml_decoded<Iq1>("iq1_s", "1.56-bit super-blocks of 256 over a codebook, decoded only (ggml)", 1, "q2_K");

}  // namespace dyadic::DY_ISA
