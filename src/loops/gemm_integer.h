// Integer products of one tile: plain loops that the compiler vectorizes; overflow wraps, so T is unsigned. Only for files that
// are compiled per instruction set.
#pragma once
#include "loops/gemm_kernel.h"

namespace dyadic::DY_ISA {

// g++ 12 warns about its own gather instructions (the strided loops become some).
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
template <class T> static void integer_tile(const GemmTile& t) {
  constexpr int64_t kWide = 256;
  const T *a = (const T*)t.a, *b = (const T*)t.b, *bias = (const T*)t.bias;
  for (int64_t j0 = 0; j0 < t.n; j0 += kWide) {
    const int64_t n = t.n - j0 < kWide ? t.n - j0 : kWide;
    for (int64_t i = 0; i < t.m; ++i) {
      T acc[kWide];
      T* c = (T*)t.c + i * t.c_row + j0 * t.c_col;
      for (int64_t j = 0; j < n; ++j) {
        acc[j] = t.accumulate ? c[j * t.c_col] : T(0);
        if (bias) acc[j] += bias[i * t.bias_row + (j0 + j) * t.bias_col];
      }
      for (int64_t p = 0; p < t.k; ++p) {
        const T x = a[i * t.a_row + p * t.a_col];
        const T* row = b + p * t.b_row + j0 * t.b_col;
        if (t.b_col == 1)
          for (int64_t j = 0; j < n; ++j) acc[j] += x * row[j];
        else
          for (int64_t j = 0; j < n; ++j) acc[j] += x * row[j * t.b_col];
      }
      for (int64_t j = 0; j < n; ++j) c[j * t.c_col] = acc[j];
    }
  }
}
template <class T> static void integer_combine(const GemmParts& p, int64_t begin, int64_t end) {
  const T* bias = (const T*)p.bias;
  for (int64_t i = begin; i < end; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      T* c = (T*)p.c + i * p.c_row + j * p.c_col;
      T x = p.accumulate ? *c : T(0);
      if (bias) x += bias[i * p.bias_row + j * p.bias_col];
      for (int64_t q = 0; q < p.parts; ++q) x += ((const T*)p.part)[(q * p.m + i) * p.n + j];
      *c = x;
    }
}
#ifndef __clang__
#pragma GCC diagnostic pop
#endif
template <class T> constexpr GemmFunctions integer_functions() {
  return {integer_tile<T>, integer_tile<T>, nullptr, integer_combine<T>, nullptr};
}

}  // namespace dyadic::DY_ISA
