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
template <class T> void map_pow(const T* x, const T* y, T* z, int64_t n) {
  constexpr int64_t kLanes = Vec<T>::size();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) pow(Vec<T>::load(x + i), Vec<T>::load(y + i)).store(z + i);
  if (i < n) pow(Vec<T>::load_n(x + i, n - i), Vec<T>::load_n(y + i, n - i)).store_n(z + i, n - i);
}
template <class F> constexpr MathEntry entry(const char* name, F) { return {name, map<F{}, float>, map<F{}, double>}; }

}  // namespace

#define DY_ENTRY(name) entry(#name, [](auto x) { return name(x); })
extern const MathKernel math_kernel = {
    {DY_ENTRY(exp),   DY_ENTRY(exp2),  DY_ENTRY(expm1), DY_ENTRY(tanh), DY_ENTRY(sigmoid), DY_ENTRY(log),  DY_ENTRY(log2),
     DY_ENTRY(log1p), DY_ENTRY(sin),   DY_ENTRY(cos),   DY_ENTRY(tan),  DY_ENTRY(erf),     DY_ENTRY(erfc), DY_ENTRY(normcdf),
     DY_ENTRY(sqrt),  DY_ENTRY(rsqrt), DY_ENTRY(floor), DY_ENTRY(ceil), DY_ENTRY(trunc),   DY_ENTRY(round)},
    20,
    map_pow<float>,
    map_pow<double>};

}  // namespace dyadic::DY_ISA
