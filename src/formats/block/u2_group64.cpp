// u2 with scales and offsets.
#include "formats/block/offset_group.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef u2_group64_format =
    OffsetGroup<2>::format("u2", "2-bit integers with a scale and an offset per row or group, decoded only (MLX)");

}  // namespace dyadic::DY_ISA
