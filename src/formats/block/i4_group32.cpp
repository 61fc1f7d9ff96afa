// i4 with scales, one per 32 elements of a row by default.
#include "formats/block/int_group.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef i4_group32_format = {
    .name = "i4",
    .doc = "4-bit integers with a scale per row, tensor or group",
    .kind = Kind::scaled,
    .compute = Compute::f32,
    .bits = 4,
    .max = 7,
    .defaults = {.granularity = Granularity::group, .block = 32, .scale = &detail::f32},
    .options = kRow | kTensor | kGroup | kZero | kScale,
    .block_step = 2,
    .planes = group_planes,
    .decode_range = IntGroup<4>::decode_range,
    .encode_all = IntGroup<4>::encode_all,
    .decode1 = IntGroup<4>::decode1,
    .encode1 = IntGroup<4>::encode1,
};

}  // namespace dyadic::DY_ISA
