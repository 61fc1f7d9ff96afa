// c128: complex numbers, pairs of f64, the real part first. Its limits are those of a part.
#include "formats/scalar/plain.h"

namespace dyadic::DY_ISA {
namespace {

struct Pair {
  double re, im;
};

}  // namespace

extern constexpr FormatDef c128_format = {
    .name = "c128",
    .long_name = "complex128",
    .doc = "complex number, a pair of f64",
    .kind = Kind::complex,
    .compute = Compute::c128,
    .bits = 128,
    .exponent_bits = 11,
    .mantissa_bits = 52,
    .bias = 1023,
    .max = 0x1.fffffffffffffp1023,
    .min_normal = 0x1p-1022,
    .min_subnormal = 0x1p-1074,
    .eps = 0x1p-52,
    .has_inf = true,
    .has_nan = true,
    .decode = copy_decode<Pair>,
    .encode = copy_encode<Pair>,
};

}  // namespace dyadic::DY_ISA
