// fp4: bitsandbytes' 4-bit float: a sign bit and {0, 0.0052, 2/3, 1, 1/3, 1/2, 1/6, 1/4} by code. Not OCP's e2m1. Values and
// thresholds are those of its csrc (dDequantizeFP4Tree, dQuantizeFP4): a magnitude on a threshold gets the smaller value, and
// only values below zero get the sign bit.
#include "formats/block/flat4.h"

namespace dyadic::DY_ISA {
namespace {

// "x > -t" would put -t itself one rank too high: take the number below -t.
constexpr float under(float t) { return -bits_float(float_bits(t) + 1); }

constexpr Codebook4 kFp4 = {
    .value = {0.0f, 5.208333333e-03f, 0.66666667f, 1.0f, 0.33333333f, 0.5f, 0.16666667f, 0.25f, -0.0f, -5.208333333e-03f,
              -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f},
    .threshold = {under(0.8333333f), under(0.583333f), under(0.4166667f), under(0.29166667f), under(0.20833333f),
                  under(0.0859375f), under(0.00260417f), under(0.0f), 0.00260417f, 0.0859375f, 0.20833333f, 0.29166667f,
                  0.4166667f, 0.583333f, 0.8333333f},
    .code = {11, 10, 13, 12, 15, 14, 9, 8, 0, 1, 6, 7, 4, 5, 2, 3},
    .zero = 0,
    .lowest = 11,
    .highest = 3,
};
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
