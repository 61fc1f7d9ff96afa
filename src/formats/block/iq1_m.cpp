// iq1_m: ggml's super-blocks of 256 at 1.75 bits, decoded only (iq1.h). Bytes: the low 8 bits of 32 indices; 16 bytes, of each
// half the upper 3 bits of an index and the direction of its shift; 4 words, each 4 times 3 bits of scale s for 16 elements and
// 4 bits of d, an f16, lowest first. Values: d (2 s + 1) (entry + 1/8), or - 1/8.
#include "formats/block/iq1.h"

namespace dyadic::DY_ISA {
namespace {

struct Iq1 {
  static constexpr int64_t kSize = kSuper, kBytes = 56;
  static void decode(const uint8_t* block, float* out) {
    const uint8_t *upper = block + 32, *scales = block + 48;
    int bits = 0;
    for (int k = 0; k < 4; ++k) bits |= load16(scales + 2 * k) >> 12 << (4 * k);
    alignas(64) int8_t codes[kSize];
    float scale[16];
    const float d = f16_value(uint16_t(bits));
    for (int j = 0; j < 16; ++j) {
      for (int l = 0; l < 2; ++l) {
        const int half = upper[j] >> (4 * l) & 15;
        iq1_codes(block[2 * j + l] | (half & 7) << 8, half & 8, codes + 16 * j + 8 * l);
      }
      const int s = load16(scales + j / 4 * 2) >> (3 * (j % 4)) & 7;
      scale[j] = d * float(2 * s + 1) * 0.125f;
    }
    scale_groups(codes, 16, scale, out);
  }
};

}  // namespace

extern constexpr FormatDef iq1_m_format =
    ggml_decoded<Iq1>("iq1_m", "1.75-bit super-blocks of 256 over a codebook, decoded only (ggml)", 1, "q2_K");

}  // namespace dyadic::DY_ISA
