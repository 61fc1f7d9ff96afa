// q4_K: ggml's 4-bit super-blocks of 256 (sixbit.h).
#include "formats/block/sixbit.h"

namespace dyadic::DY_ISA {
namespace {

struct Four {
  static constexpr int kBits = 4;
  static constexpr AffineRule kRule = {.n = 32, .top = 15, .first = -1.f, .step = 0.1f, .steps = 20, .absolute = false};
  static void pack(const uint8_t* codes, uint8_t* out) { pack_pairs(codes, out); }
  static void unpack(const uint8_t* packed, uint8_t* codes) { unpack_pairs(packed, codes); }
};

}  // namespace

extern constexpr FormatDef q4_K_format =
    ggml_encoded<SixBitBlock<Four>>("q4_K", "4-bit super-blocks of 256 with minima (ggml)", 4);

}  // namespace dyadic::DY_ISA
