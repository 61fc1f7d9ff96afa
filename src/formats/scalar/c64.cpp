// c64: complex numbers, pairs of f32, the real part first. Its limits are those of a part.
#include "formats/scalar/plain.h"

namespace dyadic::DY_ISA {
namespace {

struct Pair {
  float re, im;
};

}  // namespace

extern constexpr FormatDef c64_format = {
    .name = "c64",
    .long_name = "complex64",
    .doc = "complex number, a pair of f32",
    .kind = Kind::complex,
    .compute = Compute::c64,
    .bits = 64,
    .exponent_bits = 8,
    .mantissa_bits = 23,
    .bias = 127,
    .max = 0x1.fffffep127,
    .min_normal = 0x1p-126,
    .min_subnormal = 0x1p-149,
    .eps = 0x1p-23,
    .has_inf = true,
    .has_nan = true,
    .decode = copy_decode<Pair>,
    .encode = copy_encode<Pair>,
};

}  // namespace dyadic::DY_ISA
