// iq3_s: ggml's super-blocks of 256 at 3.44 bits, decoded only (iq.h). Bytes: d in f16, the low 8 bits of 64 indices of 4
// elements each, 8 bytes of their highest bits, 32 bytes of signs, 4 bytes of two 4-bit scales s for 32 elements each. Values:
// d (2 s + 1) times the entry.
#include "formats/block/iq.h"

namespace dyadic::DY_ISA {
namespace {

struct Iq3 {
  static constexpr int64_t kSize = kSuper, kBytes = 110;
  static void decode(const uint8_t* block, float* out) {
    alignas(64) int8_t codes[kSize];
    float scale[8];
    const float d = load_f16(block);
    const uint8_t *low = block + 2, *upper = block + 66, *signs = block + 74, *scales = block + 106;
    for (int j = 0; j < 8; ++j) {
      auto entry = [&](int l) { return kIq3s.entry[low[8 * j + l] | (upper[j] >> l & 1) << 8]; };
      for (int l = 0; l < 4; ++l)
        store8(with_signs(entry(2 * l) | entry(2 * l + 1) << 32, signs[4 * j + l]), codes + 32 * j + 8 * l);
      const int s = scales[j / 2] >> (4 * (j % 2)) & 15;
      scale[j] = d * float(1 + 2 * s);
    }
    scale_groups(codes, 32, scale, out);
  }
};

}  // namespace

extern constexpr FormatDef iq3_s_format =
    ggml_decoded<Iq3>("iq3_s", "3.44-bit super-blocks of 256 over a codebook, decoded only (ggml)", 3, "q3_K");

}  // namespace dyadic::DY_ISA
