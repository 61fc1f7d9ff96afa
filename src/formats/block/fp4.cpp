// fp4: bitsandbytes' 4-bit float: a sign bit and {0, 0.0052, 2/3, 1, 1/3, 1/2, 1/6, 1/4} by code. Not OCP's e2m1. Values and
// thresholds are those of its csrc (dDequantizeFP4Tree, dQuantizeFP4): a magnitude on a threshold gets the smaller value, and
// only values below zero get the sign bit.
#include "formats/block/flat4.h"

namespace dyadic::DY_ISA {
namespace {

using Fp4 = Flat4<kFp4>;

}  // namespace

extern constexpr FormatDef fp4_format = {
    .name = "fp4",
    .doc = "4-bit float in flat blocks (bitsandbytes)",
    .kind = Kind::scaled,
    .compute = Compute::f32,
    .bits = 4,
    .max = 1,
    .defaults = {.granularity = Granularity::flat, .block = 64, .scale = &detail::f32},
    .options = kBlock | kDoubled,
    .block_step = 2,
    .planes = flat_planes,
    .decode_range = Fp4::decode_range,
    .encode_all = Fp4::encode_all,
    .decode1 = Fp4::decode1,
    .encode1 = Fp4::encode1,
};

}  // namespace dyadic::DY_ISA
