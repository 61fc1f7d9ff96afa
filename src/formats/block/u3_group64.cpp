// u3 with scales and offsets.
#include "formats/block/offset_group.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef u3_group64_format =
    OffsetGroup<3>::format("u3", "3-bit integers with a scale and an offset per row or group, decoded only (MLX)");

}  // namespace dyadic::DY_ISA
