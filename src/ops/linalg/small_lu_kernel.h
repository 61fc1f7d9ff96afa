// LU factors of many small matrices: as many at a time as a vector has elements. A batch of 3 x 3 by calls of LAPACK, one per
// matrix, takes ten times as long.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "ops/linalg/by_number.h"

namespace dyadic::inline v1 {

inline constexpr int kSmallLu = 16;  // rows and columns at most, and one at least

// Matrices of one size: element (i, j) of number b lies at data[b * step + i * row + j * col].
template <class T> struct SmallMatrices {
  T* data;
  int64_t step, row, col;
};

// Pivots and info are getrf's: rows from 1, the first of the largest; the place of the first zero on U's diagonal or 0. Threads
// inside; a matrix's bits depend on its size and the instruction set alone, not on its batch.
template <class T> struct SmallLuTable {
  // P A = L U of a [m, n]: all factors in `lu`, which may be `a`; pivots [batch, min(m, n)].
  void (*factor)(int64_t batch, int m, int n, SmallMatrices<const T> a, SmallMatrices<T> lu, int* pivots, int* info);
  // The diagonals of U [n, batch], the first elements with the sign of the permutation.
  void (*diagonal)(int64_t batch, int n, SmallMatrices<const T> a, T* to);
  void (*invert)(int64_t batch, int n, SmallMatrices<const T> a, SmallMatrices<T> inverse, int* info);
  // x [n, columns] = A^-1 b from the factors number places[i] or, without places, number i; x may be b.
  void (*solve)(int64_t batch, int n, int64_t columns, SmallMatrices<const T> lu, const int* pivots, const int* places,
                SmallMatrices<const T> b, SmallMatrices<T> x);
};
using SmallLuKernel = ByNumber<SmallLuTable>;

}  // namespace dyadic::inline v1

DY_KERNEL(SmallLuKernel, small_lu_kernel)

namespace dyadic::inline v1::ops {

template <class T> const SmallLuTable<T>& small_lu() { return small_lu_kernel().of<T>(); }

}  // namespace dyadic::inline v1::ops
