// iq2_s: ggml's super-blocks of 256 at 2.56 bits, decoded only (iq.h). Bytes: d in f16, the low 8 bits of 32 indices, 32 bytes
// of signs, 8 bytes of the upper 2 bits of 4 indices each, 8 of two 4-bit scales s for 16 elements each. Values: d (s + 1/2) /
// 4 times the entry.
#include "formats/block/iq.h"

namespace dyadic::DY_ISA {
namespace {

struct Iq2 {
  static constexpr int64_t kSize = kSuper, kBytes = 82;
  static void decode(const uint8_t* block, float* out) {
    alignas(64) int8_t codes[kSize];
    float scale[16];
    const float d = load_f16(block);
    const uint8_t *low = block + 2, *signs = block + 34, *upper = block + 66, *scales = block + 74;
    for (int j = 0; j < 16; ++j) {
      for (int l = 2 * j; l < 2 * j + 2; ++l) {
        const int index = low[l] | (upper[l / 4] >> (2 * (l % 4)) & 3) << 8;
        store8(with_signs(kIq2s.entry[index], signs[l]), codes + 8 * l);
      }
      const int s = scales[j / 2] >> (4 * (j % 2)) & 15;
      scale[j] = d * (0.5f + float(s)) * 0.25f;
    }
    scale_groups(codes, 16, scale, out);
  }
};

}  // namespace

extern constexpr FormatDef iq2_s_format =
    ggml_decoded<Iq2>("iq2_s", "2.56-bit super-blocks of 256 over a codebook, decoded only (ggml)", 2, "q2_K");

}  // namespace dyadic::DY_ISA
