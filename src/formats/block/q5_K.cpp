// q5_K: ggml's 5-bit super-blocks of 256 (sixbit.h). 32 bytes hold the codes' highest bits, bit j of byte l that of element
// 32 j + l; 128 bytes the rest.
#include "formats/block/sixbit.h"

namespace dyadic::DY_ISA {
namespace {

struct Five {
  static constexpr int kBits = 5;
  static constexpr AffineRule kRule = {.n = 32, .top = 31, .first = -0.5f, .step = 0.1f, .steps = 15, .absolute = false};
  static void pack(const uint8_t* codes, uint8_t* out) {
    for (int l = 0; l < 32; ++l) {
      int bits = 0;
      for (int j = 0; j < 8; ++j) bits |= (codes[32 * j + l] >> 4 & 1) << j;
      out[l] = uint8_t(bits);
    }
    pack_pairs(codes, out + 32);
  }
  static void unpack(const uint8_t* packed, uint8_t* codes) {
    unpack_pairs(packed + 32, codes);
    for (int j = 0; j < 8; ++j)
      for (int l = 0; l < 32; ++l) codes[32 * j + l] |= uint8_t((packed[l] >> j & 1) << 4);
  }
};

}  // namespace

extern constexpr FormatDef q5_K_format =
    ggml_encoded<SixBitBlock<Five>>("q5_K", "5-bit super-blocks of 256 with minima (ggml)", 5);

}  // namespace dyadic::DY_ISA
