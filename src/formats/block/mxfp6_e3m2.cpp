// mxfp6_e3m2: 6-bit floats (e3m2) in blocks of 32 with a power of two as scale (OCP MX, 2023).
#include "formats/block/float_group.h"

namespace dyadic::DY_ISA {
namespace {

using Groups = FloatGroup<FloatElement<Mini{3, 2, 3, Special::none, Overflow::saturate}>>;

}  // namespace

extern constexpr FormatDef mxfp6_e3m2_format = {
    .name = "mxfp6_e3m2",
    .doc = "6-bit floats (e3m2) in blocks of 32 with a power of two as scale (OCP MX, 2023)",
    .kind = Kind::scaled,
    .compute = Compute::f32,
    .bits = 6,
    .max = 28,
    .defaults = {.granularity = Granularity::group, .block = 32, .scale = &detail::f8e8m0fnu},
    .planes = group_planes,
    .decode_range = Groups::decode_range,
    .encode_all = Groups::encode_all,
    .decode1 = Groups::decode1,
    .encode1 = Groups::encode1,
};

}  // namespace dyadic::DY_ISA
