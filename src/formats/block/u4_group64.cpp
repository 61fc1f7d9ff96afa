// u4 with scales and offsets.
#include "formats/block/offset_group.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef u4_group64_format =
    OffsetGroup<4>::format("u4", "4-bit integers with a scale and an offset per row or group, decoded only (MLX)");

}  // namespace dyadic::DY_ISA
