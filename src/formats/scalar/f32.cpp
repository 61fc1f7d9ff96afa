// f32: IEEE 754 binary32, its own compute type. Always rounds to nearest even: stochastic rounding is for the 16-bit formats.
#include "formats/scalar/plain.h"

namespace dyadic::DY_ISA {
namespace {

double decode1(const Format&, uint64_t code) { return bits_float(uint32_t(code)); }
uint64_t encode1(const Format&, double value) { return float_bits(float(value)); }

}  // namespace

extern constexpr FormatDef f32_format = {
    .name = "f32",
    .long_name = "float32",
    .doc = "IEEE 754 binary32",
    .kind = Kind::floating,
    .compute = Compute::f32,
    .bits = 32,
    .exponent_bits = 8,
    .mantissa_bits = 23,
    .bias = 127,
    .max = 0x1.fffffep127,
    .min_normal = 0x1p-126,
    .min_subnormal = 0x1p-149,
    .eps = 0x1p-23,
    .has_inf = true,
    .has_nan = true,
    .decode = copy_decode<float>,
    .encode = copy_encode<float>,
    .decode1 = decode1,
    .encode1 = encode1,
};

}  // namespace dyadic::DY_ISA
