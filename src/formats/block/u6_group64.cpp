// u6 with scales and offsets.
#include "formats/block/offset_group.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef u6_group64_format =
    OffsetGroup<6>::format("u6", "6-bit integers with a scale and an offset per row or group, decoded only (MLX)");

}  // namespace dyadic::DY_ISA
