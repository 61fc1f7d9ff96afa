// mxfp8_e4m3: 8-bit floats (e4m3) in blocks of 32 with a power of two as scale (OCP MX, 2023).
#include "formats/block/float_group.h"

namespace dyadic::DY_ISA {
namespace {

using Groups = FloatGroup<FloatElement<Mini{4, 3, 7, Special::fn, Overflow::saturate}>>;

}  // namespace

extern constexpr FormatDef mxfp8_e4m3_format = {
    .name = "mxfp8_e4m3",
    .doc = "8-bit floats (e4m3) in blocks of 32 with a power of two as scale (OCP MX, 2023)",
    .kind = Kind::scaled,
    .compute = Compute::f32,
    .bits = 8,
    .max = 448,
    .defaults = {.granularity = Granularity::group, .block = 32, .scale = &detail::f8e8m0fnu},
    .planes = group_planes,
    .decode_range = Groups::decode_range,
    .encode_all = Groups::encode_all,
    .decode1 = Groups::decode1,
    .encode1 = Groups::encode1,
};

}  // namespace dyadic::DY_ISA
