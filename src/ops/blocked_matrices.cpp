#include <algorithm>

#include "ops/linalg/blocked.h"

namespace dyadic::inline v1::ops {

// By columns, C is the transpose of a row-major matrix: C^T += (-B^T) A^T.
template <class T> void Blocked<T>::subtract(const BlockProduct<T>& p) {
  if constexpr (!lapack::is_complex<T>) {
    if (p.m == 0 || p.n == 0 || p.k == 0) return;
    const DType type = dtype_for<T>();
    GemmCall call{p.n, p.m, p.k, {}, {}, p.c, type, p.ldc};
    call.a = {room_, type, p.k, 1};
    call.b = {p.a, type, p.lda, 1};
    call.accumulate = true;
    if (counting_) {
      negated_ = std::max(negated_, p.n * p.k);
      product_ = std::max(product_, int64_t(gemm_workspace(call)));
      return;
    }
    for (int64_t j = 0; j < p.n; ++j)
      for (int64_t i = 0; i < p.k; ++i) room_[j * p.k + i] = -p.b[p.b_turned ? i * p.ldb + j : j * p.ldb + i];
    gemm(call, room_ + negated_);
  }
}

template <class T> void Blocked<T>::lu(int m, int n, T* a, int lda, int* pivots, int* info) {
  const int k = std::min(m, n);
  *info = 0;
  if (small(k)) {
    if (!counting_) lapack::getrf<T>(&m, &n, a, &lda, pivots, info);
    return;
  }
  const int left = k / 2, right = n - left, below = m - left;
  T *a12 = a + int64_t(left) * lda, *a22 = a12 + left;
  int second = 0;
  lu(m, left, a, lda, pivots, info);
  if (!counting_) exchange_rows(right, a12, lda, 0, left, pivots);
  solve(false, true, left, right, a, lda, a12, lda);
  subtract({below, right, left, a + left, lda, a12, lda, a22, lda});
  lu(below, right, a22, lda, counting_ ? nullptr : pivots + left, &second);
  if (counting_) return;
  for (int i = left; i < k; ++i) pivots[i] += left;
  exchange_rows(left, a, lda, left, k, pivots);
  if (*info == 0 && second) *info = second + left;
}

template <class T> void Blocked<T>::cholesky(int n, T* a, int lda, int* info) {
  *info = 0;
  if (small(n)) {
    if (!counting_) lapack::potrf<T>("L", &n, a, &lda, info, 1);
    return;
  }
  const int half = n / 2, rest = n - half;
  T *below = a + half, *last = a + int64_t(half) * lda + half;
  cholesky(half, a, lda, info);
  if (*info) return;
  solve_right_transposed(rest, half, a, lda, below, lda);
  subtract({rest, rest, half, below, lda, below, lda, last, lda, true});
  cholesky(rest, last, lda, info);
  if (*info) *info += half;
}

template <class T> void Blocked<T>::solve(bool upper, bool unit, int n, int columns, const T* a, int lda, T* b, int ldb) {
  if (columns == 0) return;
  if (small(n)) {
    const T one(1);
    if (!counting_)
      lapack::trsm<T>("L", upper ? "U" : "L", "N", unit ? "U" : "N", &n, &columns, &one, a, &lda, b, &ldb, 1, 1, 1, 1);
    return;
  }
  const int half = n / 2, rest = n - half;
  const T *right = a + int64_t(half) * lda, *last = right + half;
  T* bottom = b + half;
  if (upper) {
    solve(true, unit, rest, columns, last, lda, bottom, ldb);
    subtract({half, columns, rest, right, lda, bottom, ldb, b, ldb});
    solve(true, unit, half, columns, a, lda, b, ldb);
  } else {
    solve(false, unit, half, columns, a, lda, b, ldb);
    subtract({rest, columns, half, a + half, lda, b, ldb, bottom, ldb});
    solve(false, unit, rest, columns, last, lda, bottom, ldb);
  }
}

template <class T> void Blocked<T>::solve_right_transposed(int rows, int n, const T* l, int ldl, T* b, int ldb) {
  if (small(n)) {
    const T one(1);
    if (!counting_) lapack::trsm<T>("R", "L", "T", "N", &rows, &n, &one, l, &ldl, b, &ldb, 1, 1, 1, 1);
    return;
  }
  const int half = n / 2, rest = n - half;
  T* right = b + int64_t(half) * ldb;
  solve_right_transposed(rows, half, l, ldl, b, ldb);
  subtract({rows, rest, half, b, ldb, l + half, ldl, right, ldb, true});
  solve_right_transposed(rows, rest, l + int64_t(half) * ldl + half, ldl, right, ldb);
}

template class Blocked<float>;
template class Blocked<double>;
template class Blocked<lapack::c64>;
template class Blocked<lapack::c128>;

}  // namespace dyadic::inline v1::ops
