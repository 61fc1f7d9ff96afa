// i3 with scales, one per 32 elements of a row by default.
#include "formats/block/int_group.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef i3_group32_format = {
    .name = "i3",
    .doc = "3-bit integers with a scale per row, tensor or group",
    .kind = Kind::scaled,
    .compute = Compute::f32,
    .bits = 3,
    .max = 3,
    .defaults = {.granularity = Granularity::group, .block = 32, .scale = &detail::f32},
    .options = kRow | kTensor | kGroup | kZero | kScale,
    .block_step = 8,
    .planes = group_planes,
    .decode_range = IntGroup<3>::decode_range,
    .encode_all = IntGroup<3>::encode_all,
    .decode1 = IntGroup<3>::decode1,
    .encode1 = IntGroup<3>::encode1,
};

}  // namespace dyadic::DY_ISA
