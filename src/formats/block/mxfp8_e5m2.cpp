// mxfp8_e5m2: 8-bit floats (e5m2) in blocks of 32 with a power of two as scale (OCP MX, 2023).
#include "formats/block/float_group.h"

namespace dyadic::DY_ISA {
namespace {

using Groups = FloatGroup<FloatElement<Mini{5, 2, 15, Special::ieee, Overflow::saturate, true}>>;

}  // namespace

extern constexpr FormatDef mxfp8_e5m2_format = {
    .name = "mxfp8_e5m2",
    .doc = "8-bit floats (e5m2) in blocks of 32 with a power of two as scale (OCP MX, 2023)",
    .kind = Kind::scaled,
    .compute = Compute::f32,
    .bits = 8,
    .max = 57344,
    .defaults = {.granularity = Granularity::group, .block = 32, .scale = &detail::f8e8m0fnu},
    .planes = group_planes,
    .decode_range = Groups::decode_range,
    .encode_all = Groups::encode_all,
    .decode1 = Groups::decode1,
    .encode1 = Groups::encode1,
};

}  // namespace dyadic::DY_ISA
