// iq3_xxs: ggml's super-blocks of 256 at 3.06 bits, decoded only (iq.h). Bytes: d in f16, 64 indices of 4 elements each, then a
// word for each 32 elements: 4 times 7 bits of signs, 4 bits of scale s. Values: d (s + 1/2) / 2 times the entry.
#include "formats/block/iq.h"

namespace dyadic::DY_ISA {
namespace {

struct Iq3 {
  static constexpr int64_t kSize = kSuper, kBytes = 98;
  static void decode(const uint8_t* block, float* out) {
    alignas(64) int8_t codes[kSize];
    float scale[8];
    const float d = load_f16(block);
    for (int j = 0; j < 8; ++j) {
      const uint8_t* index = block + 2 + 8 * j;
      const uint32_t word = load32(block + 66 + 4 * j);
      for (int l = 0; l < 4; ++l) {
        const uint64_t values = kIq3xxs.entry[index[2 * l]] | kIq3xxs.entry[index[2 * l + 1]] << 32;
        store8(with_signs(values, even_signs(word >> (7 * l))), codes + 32 * j + 8 * l);
      }
      scale[j] = d * (0.5f + float(word >> 28)) * 0.5f;
    }
    scale_groups(codes, 32, scale, out);
  }
};

}  // namespace

extern constexpr FormatDef iq3_xxs_format =
    ggml_decoded<Iq3>("iq3_xxs", "3.06-bit super-blocks of 256 over a codebook, decoded only (ggml)", 3, "q3_K");

}  // namespace dyadic::DY_ISA
