// f64: IEEE 754 binary64, its own compute type.
#include "formats/scalar/plain.h"

namespace dyadic::DY_ISA {
namespace {

double decode1(const Format&, uint64_t code) { return __builtin_bit_cast(double, code); }
uint64_t encode1(const Format&, double value) { return double_bits(value); }

}  // namespace

extern constexpr FormatDef f64_format = {
    .name = "f64",
    .long_name = "float64",
    .doc = "IEEE 754 binary64",
    .kind = Kind::floating,
    .compute = Compute::f64,
    .bits = 64,
    .exponent_bits = 11,
    .mantissa_bits = 52,
    .bias = 1023,
    .max = 0x1.fffffffffffffp1023,
    .min_normal = 0x1p-1022,
    .min_subnormal = 0x1p-1074,
    .eps = 0x1p-52,
    .has_inf = true,
    .has_nan = true,
    .decode = copy_decode<double>,
    .encode = copy_encode<double>,
    .decode1 = decode1,
    .encode1 = encode1,
};

}  // namespace dyadic::DY_ISA
