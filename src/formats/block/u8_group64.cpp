// u8 with scales and offsets.
#include "formats/block/offset_group.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef u8_group64_format =
    OffsetGroup<8>::format("u8", "8-bit integers with a scale and an offset per row or group, decoded only (MLX)");

}  // namespace dyadic::DY_ISA
