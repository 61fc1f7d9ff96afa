// iq2_xxs: ggml's super-blocks of 256 at 2.06 bits, decoded only (iq.h). Bytes: d in f16, then for each 32 elements 4 bytes of
// indices, one for 8 elements, and a word: 4 times 7 bits of signs, 4 bits of scale s. Values: d (s + 1/2) / 4 times the entry.
#include "formats/block/iq.h"

namespace dyadic::DY_ISA {
namespace {

struct Iq2 {
  static constexpr int64_t kSize = kSuper, kBytes = 66;
  static void decode(const uint8_t* block, float* out) {
    alignas(64) int8_t codes[kSize];
    float scale[8];
    const float d = load_f16(block);
    for (int j = 0; j < 8; ++j) {
      const uint8_t* index = block + 2 + 8 * j;
      const uint32_t word = load32(index + 4);
      for (int l = 0; l < 4; ++l)
        store8(with_signs(kIq2xxs.entry[index[l]], even_signs(word >> (7 * l))), codes + 32 * j + 8 * l);
      scale[j] = d * (0.5f + float(word >> 28)) * 0.25f;
    }
    scale_groups(codes, 32, scale, out);
  }
};

}  // namespace

extern constexpr FormatDef iq2_xxs_format =
    ggml_decoded<Iq2>("iq2_xxs", "2.06-bit super-blocks of 256 over a codebook, decoded only (ggml)", 2, "q2_K");

}  // namespace dyadic::DY_ISA
