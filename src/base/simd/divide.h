// fmod, remainder and rounded quotients of floats, with the vocabulary that Lane has for integers.
#pragma once
#include "base/simd/lanewise.h"

namespace dyadic::DY_ISA {

// a - trunc(a / b) b, exactly. With a fused multiply-add that is one step for quotients below 2^52, the others go to the C
// library.
DY_INLINE Vec<double> fmod(Vec<double> a, Vec<double> b) {
  Vec<double> q = trunc(a / b), r = fma(-q, b, a), width = abs(b);
  Mask<double> over = ((r < 0) ^ (a < 0)) & (r != 0);  // the quotient was rounded up
  r = select(over, r + copysign(width, a), r);
  r = copysign(select(abs(a) < width, a, r), a);
#if HWY_NATIVE_FMA
  Mask<double> done = abs(q) < 0x1p52;
#else
  Mask<double> done = abs(a) < width;
#endif
  return math::patch(!done, r, a, b, [](double x, double y) { return __builtin_fmod(x, y); });
}
DY_IN_DOUBLE2(fmod)

// The remainder with the sign of b, as in Python.
template <class T> DY_INLINE Vec<T> remainder(Vec<T> a, Vec<T> b) {
  Vec<T> r = fmod(a, b);
  return select((r != 0) & ((r < 0) ^ (b < 0)), r + b, r);
}
template <class T> DY_INLINE Vec<T> div_trunc(Vec<T> a, Vec<T> b) { return trunc(a / b); }
// The largest whole number not above a / b, as it would be unrounded; a / 0 is what division gives.
DY_INLINE Vec<double> div_floor(Vec<double> a, Vec<double> b) {
  Vec<double> r = fmod(a, b), q = (a - r) / b;
  q = select((r != 0) & ((r < 0) ^ (b < 0)), q - 1, q);
  q = select(q == 0, copysign(Vec<double>(0), a / b), round(q));
  return select(b == 0, a / b, q);
}
DY_IN_DOUBLE2(div_floor)

}  // namespace dyadic::DY_ISA
