// f8e4m3fn: 8-bit floats (e4m3) with a scale per row, tensor, group or tile.
#include "formats/block/float_group.h"

namespace dyadic::DY_ISA {
namespace {

using Groups = FloatGroup<FloatElement<Mini{4, 3, 7, Special::fn, Overflow::saturate}>>;

}  // namespace

extern constexpr FormatDef f8e4m3fn_row_format = {
    .name = "f8e4m3fn",
    .doc = "8-bit floats (e4m3) with a scale per row, tensor, group or tile",
    .kind = Kind::scaled,
    .compute = Compute::f32,
    .bits = 8,
    .max = 448,
    .defaults = {.granularity = Granularity::row, .scale = &detail::f32},
    .options = kRow | kTensor | kGroup | kTiled | kScale,
    .planes = group_planes,
    .decode_range = Groups::decode_range,
    .encode_all = Groups::encode_all,
    .decode1 = Groups::decode1,
    .encode1 = Groups::encode1,
};

}  // namespace dyadic::DY_ISA
