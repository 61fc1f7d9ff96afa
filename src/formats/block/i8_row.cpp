// i8 with scales, one per row by default: the usual 8-bit weight.
#include "formats/block/int_group.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef i8_row_format = {
    .name = "i8",
    .doc = "8-bit integers with a scale per row, tensor or group",
    .kind = Kind::scaled,
    .compute = Compute::f32,
    .bits = 8,
    .max = 127,
    .defaults = {.granularity = Granularity::row, .scale = &detail::f32},
    .options = kRow | kTensor | kGroup | kZero | kScale,
    .planes = group_planes,
    .decode_range = IntGroup<8>::decode_range,
    .encode_all = IntGroup<8>::encode_all,
    .decode1 = IntGroup<8>::decode1,
    .encode1 = IntGroup<8>::encode1,
};

}  // namespace dyadic::DY_ISA
