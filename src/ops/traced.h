// Traced: what an op's lambda runs on when its result must be tensors again (a gradient that will itself be differentiated) or
// a program (fusion). A value is a number into the running tracer's list; every function is out of line, so that op files,
// which are compiled per instruction set, share no code with each other.
#pragma once
#include <cstdint>

// clang-format off
#define DY_PRIMS1(X)                                                                                                           \
  X(abs) X(conj) X(sqrt) X(rsqrt) X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) \
  X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(sigmoid) X(erf) X(erfc) X(erfcx) X(erfinv) X(ndtr) X(ndtri) X(lgamma) X(digamma) \
  X(i0) X(i0e) X(i1) X(i1e) X(bessel_j0) X(bessel_j1) X(bessel_y0) X(bessel_y1) X(sign) X(signbit) X(floor) X(ceil) X(trunc)    \
  X(round) X(frexp_mantissa) X(frexp_exponent) X(isnan) X(isinf) X(isfinite)
#define DY_PRIMS2(X)                                                                                                       \
  X(pow) X(max) X(min) X(atan2) X(hypot) X(fmod) X(remainder) X(div_floor) X(div_trunc) X(copysign) X(zeta) X(igamma) X(igammac)
#define DY_PRIM_OPERATORS(X)                                                                                               \
  X(add, +) X(sub, -) X(mul, *) X(div, /) X(lt, <) X(le, <=) X(gt, >) X(ge, >=) X(eq, ==) X(ne, !=) X(logical_and, &)       \
  X(logical_or, |) X(logical_xor, ^)
// clang-format on

namespace dyadic::inline v1 {

struct Traced {
  int32_t id = -1;
  Traced() = default;
  Traced(double constant);
  Traced(float constant);
  Traced(int constant);
};
#define DY_DECLARE1(name) Traced name(Traced a);
#define DY_DECLARE2(name) Traced name(Traced a, Traced b);
#define DY_DECLARE3(name, op) Traced operator op(Traced a, Traced b);
DY_PRIMS1(DY_DECLARE1)
DY_PRIMS2(DY_DECLARE2)
DY_PRIM_OPERATORS(DY_DECLARE3)
#undef DY_DECLARE1
#undef DY_DECLARE2
#undef DY_DECLARE3
Traced operator-(Traced a);
Traced operator!(Traced a);
Traced select(Traced mask, Traced a, Traced b);

}  // namespace dyadic::inline v1
