// What has no vector version runs lane by lane: rare functions, and rare arguments of others. What a lane gives depends on its
// values only. Functions of f32 without a version of their own are computed in double and rounded once.
#pragma once
#include "base/simd/vec.h"

// The f32 version of a function on Vec<double>: nearly correctly rounded.
#define DY_IN_DOUBLE(name)                    \
  DY_INLINE Vec<float> name(Vec<float> x) {   \
    Wide w = widen(x);                        \
    return narrow(name(w.low), name(w.high)); \
  }
#define DY_IN_DOUBLE2(name)                                  \
  DY_INLINE Vec<float> name(Vec<float> x, Vec<float> y) {    \
    Wide a = widen(x), b = widen(y);                         \
    return narrow(name(a.low, b.low), name(a.high, b.high)); \
  }

namespace dyadic::DY_ISA::math {

// f(x) on the lanes of the mask, y on the others.
template <class T, class F> DY_INLINE Vec<T> patch(Mask<T> m, Vec<T> y, Vec<T> x, F f) {
  if (any(m)) [[unlikely]] {
    alignas(64) T in[Vec<T>::size()], out[Vec<T>::size()];
    x.store(in);
    y.store(out);
    const uint32_t lanes = m.bits();
    for (size_t i = 0; i < Vec<T>::size(); i++)
      if (lanes >> i & 1) out[i] = T(f(in[i]));
    y = Vec<T>::load(out);
  }
  return y;
}
template <class T, class F> DY_INLINE Vec<T> patch(Mask<T> m, Vec<T> y, Vec<T> a, Vec<T> b, F f) {
  if (any(m)) [[unlikely]] {
    alignas(64) T first[Vec<T>::size()], second[Vec<T>::size()], out[Vec<T>::size()];
    a.store(first);
    b.store(second);
    y.store(out);
    const uint32_t lanes = m.bits();
    for (size_t i = 0; i < Vec<T>::size(); i++)
      if (lanes >> i & 1) out[i] = T(f(first[i], second[i]));
    y = Vec<T>::load(out);
  }
  return y;
}

}  // namespace dyadic::DY_ISA::math
