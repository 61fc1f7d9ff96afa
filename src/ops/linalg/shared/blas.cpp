// The routines of BLAS in which LAPACK spends its time, by the names it calls them: the linker takes these instead of the
// reference's, which multiply one number at a time. Triangular matrices are halved until products do the work. What is not here
// is the reference's. Arguments are Fortran's (netlib.org/blas); LAPACK has checked them.
#include <algorithm>
#include <cstdlib>

#include "ops/linalg/blas_kernel.h"
#include "ops/linalg/lapack.h"

namespace dyadic::inline v1::ops {
namespace {

template <class T> using In = MatrixView<const T>;
template <class T> using Out = MatrixView<T>;

template <class T> T conjugate(T x, bool yes) {
  if constexpr (lapack::is_complex<T>) return yes ? std::conj(x) : x;
  return x;
}
bool is(const char* c, char upper) { return *c == upper || *c == upper - 'A' + 'a'; }

// op(A) of LAPACK's: N, T or C.
template <class T> In<T> operand(const char* trans, const T* a, const int* lda) {
  if (is(trans, 'N')) return {a, 1, *lda};
  return {a, *lda, 1, lapack::is_complex<T> && is(trans, 'C')};
}
template <class T> In<T> read(Out<T> m) { return {m.data, m.row, m.col, m.conjugated}; }

// C += alpha A B, C by rows or by columns.
template <class T> void add_product(int64_t m, int64_t n, int64_t k, T alpha, In<T> a, In<T> b, Out<T> c) {
  if (m == 0 || n == 0 || k == 0) return;
  if (c.row == 1) return blas<T>().product(m, n, k, alpha, a, b, c);
  blas<T>().product(n, m, k, alpha, b.t(), a.t(), c.t());
}
template <class T> void scale(int64_t m, int64_t n, T by, Out<T> c) {
  if (by == T(1)) return;
  if (c.row > std::abs(c.col)) return scale(n, m, by, c.t());
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) *c.at(i, j) = by == T(0) ? T(0) : by * *c.at(i, j);
}

// A triangular matrix, always on the left: what multiplies from the right is transposed with all its company.
template <class T> struct Triangle {
  In<T> a;
  bool lower, unit;
  int64_t n;
  Triangle part(int64_t from, int64_t to) const { return {a.from(from, from), lower, unit, to - from}; }
};
constexpr int64_t kColumns = 64;

// B = A B for a small A: the triangle filled up with zeros makes a product.
template <class T> void multiply_small(const Triangle<T>& t, int64_t columns, Out<T> b) {
  T full[kBlasSmall * kBlasSmall], result[kBlasSmall * kColumns];
  for (int64_t j = 0; j < t.n; ++j)
    for (int64_t i = 0; i < t.n; ++i) {
      const bool inside = t.lower ? i > j : i < j;
      full[j * t.n + i] = i == j && t.unit ? T(1) : i == j || inside ? conjugate(*t.a.at(i, j), t.a.conjugated) : T(0);
    }
  for (int64_t j = 0; j < columns; j += kColumns) {
    const int64_t n = std::min(kColumns, columns - j);
    const bool by_rows = b.row != 1;
    const Out<T> to = by_rows ? Out<T>{result, n, 1} : Out<T>{result, 1, t.n};
    std::fill(result, result + t.n * n, T(0));
    add_product<T>(t.n, n, t.n, T(1), {full, 1, t.n}, read(b.from(0, j)), to);
    for (int64_t r = 0; r < (by_rows ? t.n : n); ++r)
      for (int64_t q = 0; q < (by_rows ? n : t.n); ++q)
        by_rows ? *b.at(r, j + q) = *to.at(r, q) : *b.at(q, j + r) = *to.at(q, r);
  }
}
template <class T> void multiply(const Triangle<T>& t, int64_t columns, Out<T> b) {
  if (t.n <= kBlasSmall) return multiply_small(t, columns, b);
  const int64_t half = t.n / 2, rest = t.n - half;
  const Out<T> below = b.from(half, 0);
  if (t.lower) {
    multiply(t.part(half, t.n), columns, below);
    add_product<T>(rest, columns, half, T(1), t.a.from(half, 0), read(b), below);
    multiply(t.part(0, half), columns, b);
  } else {
    multiply(t.part(0, half), columns, b);
    add_product<T>(half, columns, rest, T(1), t.a.from(0, half), read(below), b);
    multiply(t.part(half, t.n), columns, below);
  }
}
template <class T> void solve(const Triangle<T>& t, int64_t columns, Out<T> b) {
  if (t.n <= kBlasSmall) return blas<T>().solve(t.lower, t.unit, t.n, columns, t.a, b);
  const int64_t half = t.n / 2, rest = t.n - half;
  const Out<T> below = b.from(half, 0);
  if (t.lower) {
    solve(t.part(0, half), columns, b);
    add_product<T>(rest, columns, half, T(-1), t.a.from(half, 0), read(b), below);
    solve(t.part(half, t.n), columns, below);
  } else {
    solve(t.part(half, t.n), columns, below);
    add_product<T>(half, columns, rest, T(-1), t.a.from(0, half), read(below), b);
    solve(t.part(0, half), columns, b);
  }
}
template <class T, class F>
void triangular(const char* side, const char* uplo, const char* trans, const char* diag, int m, int n, T alpha, const T* a,
                const int* lda, T* b, int ldb, F&& apply) {
  if (m == 0 || n == 0) return;
  const bool left = is(side, 'L'), turned = !is(trans, 'N');
  Out<T> to{b, 1, ldb};
  scale<T>(m, n, alpha, to);
  if (alpha == T(0)) return;
  const In<T> op = operand(trans, a, lda);
  const bool lower = is(uplo, 'L') != turned;  // of op(A); of its transpose on the right
  apply(Triangle<T>{left ? op : op.t(), left == lower, is(diag, 'U'), left ? m : n}, left ? n : m, left ? to : to.t());
}

// The triangle of C [n, n] += alpha A B for A [n, k], B [k, n].
template <class T> void add_to_triangle(bool lower, int64_t n, int64_t k, T alpha, In<T> a, In<T> b, Out<T> c) {
  for (int64_t j = 0; j < n; j += kColumns) {
    const int64_t width = std::min(kColumns, n - j);
    T square[kColumns * kColumns] = {};
    add_product<T>(width, width, k, alpha, a.from(j, 0), b.from(0, j), {square, 1, width});
    for (int64_t q = 0; q < width; ++q)
      for (int64_t r = lower ? q : 0; r < (lower ? width : q + 1); ++r) *c.at(j + r, j + q) += square[q * width + r];
    const int64_t first = lower ? j + width : 0, last = lower ? n : j;
    add_product<T>(last - first, width, k, alpha, a.from(first, 0), b.from(0, j), c.from(first, j));
  }
}
template <class T> void scale_triangle(bool lower, int64_t n, T by, Out<T> c) {
  for (int64_t j = 0; j < n; ++j) scale<T>(lower ? n - j : j + 1, 1, by, c.from(lower ? j : 0, j));
}
template <class T> void real_diagonal(int64_t n, Out<T> c) {
  if constexpr (lapack::is_complex<T>)
    for (int64_t j = 0; j < n; ++j) *c.at(j, j) = c.at(j, j)->real();
}

template <class T>
void vector_product(const char* trans, int m, int n, T alpha, const T* a, const int* lda, const T* x, int x_step, T beta, T* y,
                    int y_step) {
  const bool turned = !is(trans, 'N');
  const int64_t in = turned ? m : n, out = turned ? n : m;
  if (out == 0) return;
  if (x_step < 0) x -= (in - 1) * x_step;  // Fortran's way to walk backwards
  if (y_step < 0) y -= (out - 1) * y_step;
  scale<T>(1, out, beta, {y, 1, y_step});
  if (in > 0 && alpha != T(0))
    blas<T>().vector(turned, m, n, alpha, {a, 1, *lda, lapack::is_complex<T> && is(trans, 'C')}, x, x_step, y, y_step);
}

// y = alpha A x + beta y for a Hermitian A, of which one triangle is stored.
template <class T>
void hermitian_product(bool lower, int n, T alpha, const T* a, int lda, const T* x, int x_step, T beta, T* y, int y_step) {
  if (n == 0) return;
  if (x_step < 0) x -= int64_t(n - 1) * x_step;
  if (y_step < 0) y -= int64_t(n - 1) * y_step;
  scale<T>(1, n, beta, {y, 1, y_step});
  const In<T> m{a, 1, lda};
  if (lower && x_step == 1 && y_step == 1) return blas<T>().hermitian(n, alpha, m, x, y);
  for (int64_t j = 0; j < n; ++j) {
    T sum = x[j * x_step] * (*m.at(j, j) + conjugate(*m.at(j, j), true)) / T(2);  // a diagonal is real
    for (int64_t i = lower ? j + 1 : 0; i < (lower ? n : j); ++i) {
      y[i * y_step] += alpha * x[j * x_step] * *m.at(i, j);
      sum += conjugate(*m.at(i, j), true) * x[i * x_step];
    }
    y[j * y_step] += alpha * sum;
  }
}
template <class T>
void outer_product(bool conjugated, int m, int n, T alpha, const T* x, int x_step, const T* y, int y_step, T* a, int lda) {
  if (x_step < 0) x -= int64_t(m - 1) * x_step;
  if (y_step < 0) y -= int64_t(n - 1) * y_step;
  blas<T>().outer(conjugated, m, n, alpha, x, x_step, y, y_step, {a, 1, lda});
}

}  // namespace

namespace symbols {  // what LAPACK calls
using lapack::c128;
using lapack::c64;

#define DY_BLAS(T, gemm, gemv, trmm, trsm)                                                                                   \
  extern "C" void gemm(const char* ta, const char* tb, const int* m, const int* n, const int* k, const T* alpha, const T* a, \
                       const int* lda, const T* b, const int* ldb, const T* beta, T* c, const int* ldc, size_t, size_t) {    \
    scale<T>(*m, *n, *beta, {c, 1, *ldc});                                                                                   \
    if (*alpha != T(0)) add_product<T>(*m, *n, *k, *alpha, operand(ta, a, lda), operand(tb, b, ldb), {c, 1, *ldc});          \
  }                                                                                                                          \
  extern "C" void gemv(const char* t, const int* m, const int* n, const T* alpha, const T* a, const int* lda, const T* x,    \
                       const int* incx, const T* beta, T* y, const int* incy, size_t) {                                      \
    vector_product(t, *m, *n, *alpha, a, lda, x, *incx, *beta, y, *incy);                                                    \
  }                                                                                                                          \
  extern "C" void trmm(const char* side, const char* uplo, const char* t, const char* diag, const int* m, const int* n,      \
                       const T* alpha, const T* a, const int* lda, T* b, const int* ldb, size_t, size_t, size_t, size_t) {   \
    triangular(side, uplo, t, diag, *m, *n, *alpha, a, lda, b, *ldb,                                                         \
               [](const Triangle<T>& x, int64_t columns, Out<T> to) { multiply(x, columns, to); });                          \
  }                                                                                                                          \
  extern "C" void trsm(const char* side, const char* uplo, const char* t, const char* diag, const int* m, const int* n,      \
                       const T* alpha, const T* a, const int* lda, T* b, const int* ldb, size_t, size_t, size_t, size_t) {   \
    triangular(side, uplo, t, diag, *m, *n, *alpha, a, lda, b, *ldb,                                                         \
               [](const Triangle<T>& x, int64_t columns, Out<T> to) { solve(x, columns, to); });                             \
  }
DY_BLAS(float, sgemm_, sgemv_, strmm_, strsm_)
DY_BLAS(double, dgemm_, dgemv_, dtrmm_, dtrsm_)
DY_BLAS(c64, cgemm_, cgemv_, ctrmm_, ctrsm_)
DY_BLAS(c128, zgemm_, zgemv_, ztrmm_, ztrsm_)

// C += A A^T, A^T A; C += A B^T + B A^T and so on. R: the type of beta, and of alpha where A A^H is added.
#define DY_BLAS_RANK(T, R, syrk, syr2k)                                                                                    \
  extern "C" void syrk(const char* uplo, const char* t, const int* n, const int* k, const R* alpha, const T* a,            \
                       const int* lda, const R* beta, T* c, const int* ldc, size_t, size_t) {                              \
    const Out<T> to{c, 1, *ldc};                                                                                           \
    In<T> x = operand(t, a, lda), y = x.t();                                                                               \
    y.conjugated = dyadic::lapack::is_complex<T> && !x.conjugated;                                                         \
    scale_triangle<T>(is(uplo, 'L'), *n, *beta, to);                                                                       \
    add_to_triangle<T>(is(uplo, 'L'), *n, *k, *alpha, x, y, to);                                                           \
    real_diagonal(*n, to);                                                                                                 \
  }                                                                                                                        \
  extern "C" void syr2k(const char* uplo, const char* t, const int* n, const int* k, const T* alpha, const T* a,           \
                        const int* lda, const T* b, const int* ldb, const R* beta, T* c, const int* ldc, size_t, size_t) { \
    const Out<T> to{c, 1, *ldc};                                                                                           \
    const In<T> x = operand(t, a, lda), y = operand(t, b, ldb);                                                            \
    In<T> xt = x.t(), yt = y.t();                                                                                          \
    xt.conjugated = yt.conjugated = dyadic::lapack::is_complex<T> && !x.conjugated;                                        \
    scale_triangle<T>(is(uplo, 'L'), *n, *beta, to);                                                                       \
    add_to_triangle<T>(is(uplo, 'L'), *n, *k, *alpha, x, yt, to);                                                          \
    add_to_triangle<T>(is(uplo, 'L'), *n, *k, conjugate(*alpha, true), y, xt, to);                                         \
    real_diagonal(*n, to);                                                                                                 \
  }
DY_BLAS_RANK(float, float, ssyrk_, ssyr2k_)
DY_BLAS_RANK(double, double, dsyrk_, dsyr2k_)
DY_BLAS_RANK(c64, float, cherk_, cher2k_)
DY_BLAS_RANK(c128, double, zherk_, zher2k_)
#undef DY_BLAS
#undef DY_BLAS_RANK

// A += alpha x y^T, or y^H.
#define DY_BLAS_OUTER(T, ger, conjugated)                                                                                   \
  extern "C" void ger(const int* m, const int* n, const T* alpha, const T* x, const int* incx, const T* y, const int* incy, \
                      T* a, const int* lda) {                                                                               \
    outer_product(conjugated, *m, *n, *alpha, x, *incx, y, *incy, a, *lda);                                                 \
  }
DY_BLAS_OUTER(float, sger_, false)
DY_BLAS_OUTER(double, dger_, false)
DY_BLAS_OUTER(c64, cgeru_, false)
DY_BLAS_OUTER(c128, zgeru_, false)
DY_BLAS_OUTER(c64, cgerc_, true)
DY_BLAS_OUTER(c128, zgerc_, true)
#undef DY_BLAS_OUTER

// y = alpha A x + beta y, A symmetric or Hermitian.
#define DY_BLAS_HERMITIAN(T, hemv)                                                                             \
  extern "C" void hemv(const char* uplo, const int* n, const T* alpha, const T* a, const int* lda, const T* x, \
                       const int* incx, const T* beta, T* y, const int* incy, size_t) {                        \
    hermitian_product(is(uplo, 'L'), *n, *alpha, a, *lda, x, *incx, *beta, y, *incy);                          \
  }
DY_BLAS_HERMITIAN(float, ssymv_)
DY_BLAS_HERMITIAN(double, dsymv_)
DY_BLAS_HERMITIAN(c64, chemv_)
DY_BLAS_HERMITIAN(c128, zhemv_)
#undef DY_BLAS_HERMITIAN

}  // namespace symbols
}  // namespace dyadic::inline v1::ops
