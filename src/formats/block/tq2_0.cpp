// tq2_0: ternary codes (ternary.h) of 2 bits.
#include "formats/block/super.h"
#include "formats/block/ternary.h"

namespace dyadic::DY_ISA {
namespace {

struct Packing {
  static constexpr int64_t kBytes = 64;
  static void pack(const uint8_t* codes, uint8_t* out) { pack_quarters(codes, out); }
  static void unpack(const uint8_t* packed, uint8_t* codes) { unpack_quarters(packed, codes); }
};

}  // namespace

extern constexpr FormatDef tq2_0_format =
    ggml_encoded<Ternary<Packing>>("tq2_0", "ternary super-blocks of 256, four codes to a byte (ggml)", 2);

}  // namespace dyadic::DY_ISA
