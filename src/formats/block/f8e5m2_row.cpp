// f8e5m2: 8-bit floats (e5m2) with a scale per row, tensor, group or tile.
#include "formats/block/float_group.h"

namespace dyadic::DY_ISA {
namespace {

using Groups = FloatGroup<FloatElement<Mini{5, 2, 15, Special::ieee, Overflow::saturate, true}>>;

}  // namespace

extern constexpr FormatDef f8e5m2_row_format = {
    .name = "f8e5m2",
    .doc = "8-bit floats (e5m2) with a scale per row, tensor, group or tile",
    .kind = Kind::scaled,
    .compute = Compute::f32,
    .bits = 8,
    .max = 57344,
    .defaults = {.granularity = Granularity::row, .scale = &detail::f32},
    .options = kRow | kTensor | kGroup | kTiled | kScale,
    .planes = group_planes,
    .decode_range = Groups::decode_range,
    .encode_all = Groups::encode_all,
    .decode1 = Groups::decode1,
    .encode1 = Groups::encode1,
};

}  // namespace dyadic::DY_ISA
