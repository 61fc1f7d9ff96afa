// Products of matrices and vectors stored by columns, on raw pointers, for LAPACK: see blas.cpp.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "ops/linalg/by_number.h"

namespace dyadic::inline v1 {

// Element (i, j) lies at data[i * row + j * col]; `conjugated`: its conjugate is meant.
template <class T> struct MatrixView {
  T* data;
  int64_t row, col;
  bool conjugated = false;
  T* at(int64_t i, int64_t j) const { return data + i * row + j * col; }
  MatrixView from(int64_t i, int64_t j) const { return {at(i, j), row, col, conjugated}; }
  MatrixView t() const { return {data, col, row, conjugated}; }
};

inline constexpr int64_t kBlasSmall = 16;

// Threads inside; the order of every sum depends on the sizes alone.
template <class T> struct BlasTable {
  // C [m, n] += alpha A [m, k] B [k, n]. C's columns are contiguous and it is not conjugated.
  void (*product)(int64_t m, int64_t n, int64_t k, T alpha, MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c);
  // y [m] += alpha A [m, n] x, or, turned, y [n] += alpha A^T x (its conjugate if A is conjugated); A's columns are contiguous.
  void (*vector)(bool turned, int64_t m, int64_t n, T alpha, MatrixView<const T> a, const T* x, int64_t x_step, T* y,
                 int64_t y_step);
  // A [m, n] += alpha x y^T, or y^H; A's columns are contiguous.
  void (*outer)(bool conjugated, int64_t m, int64_t n, T alpha, const T* x, int64_t x_step, const T* y, int64_t y_step,
                MatrixView<T> a);
  // y [n] += alpha A x of a Hermitian A, of which the lower triangle is read; steps of 1.
  void (*hermitian)(int64_t n, T alpha, MatrixView<const T> a, const T* x, T* y);
  // P A = L U in place of A [m, n], n <= kBlasSmall, whose columns are contiguous; pivots and the result are getrf's: places
  // from 1, that of the first zero on U's diagonal or 0.
  int (*factor)(int64_t m, int64_t n, MatrixView<T> a, int* pivots);
  // B [n, columns] = A^-1 B for a triangular A [n, n], n <= kBlasSmall.
  void (*solve)(bool lower, bool unit, int64_t n, int64_t columns, MatrixView<const T> a, MatrixView<T> b);
};
using BlasKernel = ByNumber<BlasTable>;

}  // namespace dyadic::inline v1

DY_KERNEL(BlasKernel, blas_kernel)

namespace dyadic::inline v1::ops {

template <class T> const BlasTable<T>& blas() { return blas_kernel().of<T>(); }

}  // namespace dyadic::inline v1::ops
