// i2 with scales, one per 32 elements of a row by default.
#include "formats/block/int_group.h"

namespace dyadic::DY_ISA {

extern constexpr FormatDef i2_group32_format = {
    .name = "i2",
    .doc = "2-bit integers with a scale per row, tensor or group",
    .kind = Kind::scaled,
    .compute = Compute::f32,
    .bits = 2,
    .max = 1,
    .defaults = {.granularity = Granularity::group, .block = 32, .scale = &detail::f32},
    .options = kRow | kTensor | kGroup | kZero | kScale,
    .block_step = 4,
    .planes = group_planes,
    .decode_range = IntGroup<2>::decode_range,
    .encode_all = IntGroup<2>::encode_all,
    .decode1 = IntGroup<2>::decode1,
    .encode1 = IntGroup<2>::encode1,
};

}  // namespace dyadic::DY_ISA
