// iq2_xs: ggml's super-blocks of 256 at 2.31 bits, decoded only (iq.h). Bytes: d in f16, 32 words of 9 bits of index and 7 of
// signs for 8 elements each, 8 bytes of two 4-bit scales s for 16 elements each. Values: d (s + 1/2) / 4 times the entry.
#include "formats/block/iq.h"

namespace dyadic::DY_ISA {
namespace {

struct Iq2 {
  static constexpr int64_t kSize = kSuper, kBytes = 74;
  static void decode(const uint8_t* block, float* out) {
    alignas(64) int8_t codes[kSize];
    float scale[16];
    const float d = load_f16(block);
    for (int j = 0; j < 16; ++j) {
      const int s = block[66 + j / 2] >> (4 * (j % 2)) & 15;
      for (int l = 0; l < 2; ++l) {
        const uint32_t word = load16(block + 2 + 4 * j + 2 * l);
        store8(with_signs(kIq2xs.entry[word & 511], even_signs(word >> 9)), codes + 16 * j + 8 * l);
      }
      scale[j] = d * (0.5f + float(s)) * 0.25f;
    }
    scale_groups(codes, 16, scale, out);
  }
};

}  // namespace

extern constexpr FormatDef iq2_xs_format =
    ggml_decoded<Iq2>("iq2_xs", "2.31-bit super-blocks of 256 over a codebook, decoded only (ggml)", 2, "q2_K");

}  // namespace dyadic::DY_ISA
