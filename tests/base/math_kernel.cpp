#include "tests/base/math_kernel.h"

#include "base/simd/simd.h"

namespace dyadic::DY_ISA {

namespace {

template <auto F, class T> void map(const T* x, T* y, int64_t n) {
  constexpr int64_t kLanes = Vec<T>::size();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) F(Vec<T>::load(x + i)).store(y + i);
  if (i < n) F(Vec<T>::load_n(x + i, n - i)).store_n(y + i, n - i);
}
template <auto F, class T> void map2(const T* x, const T* y, T* z, int64_t n) {
  constexpr int64_t kLanes = Vec<T>::size();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) F(Vec<T>::load(x + i), Vec<T>::load(y + i)).store(z + i);
  if (i < n) F(Vec<T>::load_n(x + i, n - i), Vec<T>::load_n(y + i, n - i)).store_n(z + i, n - i);
}
template <class F> constexpr MathEntry entry(const char* name, F) { return {name, map<F{}, float>, map<F{}, double>}; }
template <class F> constexpr MathEntry2 entry2(const char* name, F) { return {name, map2<F{}, float>, map2<F{}, double>}; }

}  // namespace

#define DY_ENTRY(name) entry(#name, [](auto x) { return name(x); })
#define DY_ENTRY2(name) entry2(#name, [](auto x, auto y) { return name(x, y); })
extern const MathKernel math_kernel = {
    {DY_ENTRY(exp),
     DY_ENTRY(exp2),
     DY_ENTRY(expm1),
     DY_ENTRY(tanh),
     DY_ENTRY(sigmoid),
     DY_ENTRY(log),
     DY_ENTRY(log2),
     DY_ENTRY(log1p),
     DY_ENTRY(sin),
     DY_ENTRY(cos),
     DY_ENTRY(tan),
     DY_ENTRY(erf),
     DY_ENTRY(erfc),
     DY_ENTRY(ndtr),
     DY_ENTRY(sqrt),
     DY_ENTRY(rsqrt),
     DY_ENTRY(floor),
     DY_ENTRY(ceil),
     DY_ENTRY(trunc),
     DY_ENTRY(round),
     DY_ENTRY(asin),
     DY_ENTRY(acos),
     DY_ENTRY(atan),
     DY_ENTRY(sinh),
     DY_ENTRY(cosh),
     DY_ENTRY(asinh),
     DY_ENTRY(acosh),
     DY_ENTRY(atanh),
     DY_ENTRY(log10),
     DY_ENTRY(lgamma),
     DY_ENTRY(digamma),
     DY_ENTRY(i0),
     DY_ENTRY(i0e),
     DY_ENTRY(i1),
     DY_ENTRY(i1e),
     DY_ENTRY(erfinv),
     DY_ENTRY(ndtri),
     DY_ENTRY(erfcx),
     DY_ENTRY(frexp_mantissa),
     DY_ENTRY(frexp_exponent)},
    40,
    {DY_ENTRY2(pow), DY_ENTRY2(atan2), DY_ENTRY2(hypot), DY_ENTRY2(fmod), DY_ENTRY2(remainder), DY_ENTRY2(div_floor)},
    6};

}  // namespace dyadic::DY_ISA
