// The routines of LAPACK that are used, one template per routine for float, double and complex numbers: getrf<double>(...).
// Arguments are Fortran's: pointers, columns stored one after another, the lengths of texts last. LAPACK's own text says what
// they mean (netlib.org/lapack). No tensors here.
#pragma once
#include <complex>
#include <cstddef>
#include <type_traits>

namespace dyadic::inline v1::lapack {

using c64 = std::complex<float>;
using c128 = std::complex<double>;
template <class T> inline constexpr bool is_complex = std::is_same_v<T, c64> || std::is_same_v<T, c128>;
template <class T> struct RealOf {
  using type = T;
};
template <class T> struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T> using Real = typename RealOf<T>::type;

template <class T, class S, class D, class C, class Z> constexpr auto pick(S s, D d, C c, Z z) {
  if constexpr (std::is_same_v<T, float>)
    return s;
  else if constexpr (std::is_same_v<T, double>)
    return d;
  else if constexpr (std::is_same_v<T, c64>)
    return c;
  else
    return z;
}

// ARGS(T, R): the parameters for elements T, whose real numbers are R.
#define DY_LAPACK(name, s, d, c, z, ARGS) DY_LAPACK2(name, s, d, c, z, ARGS, ARGS)
#define DY_LAPACK2(name, s, d, c, z, REAL, COMPLEX) \
  extern "C" {                                      \
  void s REAL(float, float);                        \
  void d REAL(double, double);                      \
  void c COMPLEX(c64, float);                       \
  void z COMPLEX(c128, double);                     \
  }                                                 \
  template <class T> inline constexpr auto name = pick<T>(s, d, c, z);

#define DY_ARGS(T, R) (const char* uplo, const int* n, T* a, const int* lda, int* info, size_t)
DY_LAPACK(potrf, spotrf_, dpotrf_, cpotrf_, zpotrf_, DY_ARGS)
#undef DY_ARGS
#define DY_ARGS(T, R)                                                                                                   \
  (const char* side, const char* uplo, const char* trans, const char* diag, const int* m, const int* n, const T* alpha, \
   const T* a, const int* lda, T* b, const int* ldb, size_t, size_t, size_t, size_t)
DY_LAPACK(trsm, strsm_, dtrsm_, ctrsm_, ztrsm_, DY_ARGS)
#undef DY_ARGS
#define DY_ARGS(T, R)                                                                                              \
  (const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k, const T* alpha, const T* a, \
   const int* lda, const T* b, const int* ldb, const T* beta, T* c, const int* ldc, size_t, size_t)
DY_LAPACK(gemm, sgemm_, dgemm_, cgemm_, zgemm_, DY_ARGS)
#undef DY_ARGS
#define DY_ARGS(T, R) (const int* m, const int* n, T* a, const int* lda, T* tau, T* work, const int* lwork, int* info)
DY_LAPACK(geqrf, sgeqrf_, dgeqrf_, cgeqrf_, zgeqrf_, DY_ARGS)
#undef DY_ARGS
#define DY_ARGS(T, R) \
  (const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau, T* work, const int* lwork, int* info)
DY_LAPACK(orgqr, sorgqr_, dorgqr_, cungqr_, zungqr_, DY_ARGS)
#undef DY_ARGS
#define DY_ARGS(T, R) (const int* m, const int* n, T* a, const int* lda, T* tau, T* work, int* info)
DY_LAPACK(geqr2, sgeqr2_, dgeqr2_, cgeqr2_, zgeqr2_, DY_ARGS)
#undef DY_ARGS
#define DY_ARGS(T, R)                                                                                                  \
  (const char* direct, const char* storev, const int* n, const int* k, const T* v, const int* ldv, const T* tau, T* t, \
   const int* ldt, size_t, size_t)
DY_LAPACK(larft, slarft_, dlarft_, clarft_, zlarft_, DY_ARGS)
#undef DY_ARGS

// A = u diag(s) vt.
#define DY_REAL(T, R)                                                                                                     \
  (const char* job, const int* m, const int* n, T* a, const int* lda, R* s, T* u, const int* ldu, T* vt, const int* ldvt, \
   T* work, const int* lwork, int* iwork, int* info, size_t)
#define DY_COMPLEX(T, R)                                                                                                  \
  (const char* job, const int* m, const int* n, T* a, const int* lda, R* s, T* u, const int* ldu, T* vt, const int* ldvt, \
   T* work, const int* lwork, R* rwork, int* iwork, int* info, size_t)
DY_LAPACK2(gesdd, sgesdd_, dgesdd_, cgesdd_, zgesdd_, DY_REAL, DY_COMPLEX)
#undef DY_REAL
#undef DY_COMPLEX

// Eigenvalues ascending; the vectors replace a.
#define DY_REAL(T, R)                                                                                                  \
  (const char* job, const char* uplo, const int* n, T* a, const int* lda, R* w, T* work, const int* lwork, int* iwork, \
   const int* liwork, int* info, size_t, size_t)
#define DY_COMPLEX(T, R)                                                                                             \
  (const char* job, const char* uplo, const int* n, T* a, const int* lda, R* w, T* work, const int* lwork, R* rwork, \
   const int* lrwork, int* iwork, const int* liwork, int* info, size_t, size_t)
DY_LAPACK2(syevd, ssyevd_, dsyevd_, cheevd_, zheevd_, DY_REAL, DY_COMPLEX)
#undef DY_REAL
#undef DY_COMPLEX

// Eigenvalues and right vectors of any square matrix; a real one's complex pairs stand as real and imaginary parts.
#define DY_REAL(T, R)                                                                                                    \
  (const char* left, const char* right, const int* n, T* a, const int* lda, R* wr, R* wi, T* vl, const int* ldvl, T* vr, \
   const int* ldvr, T* work, const int* lwork, int* info, size_t, size_t)
#define DY_COMPLEX(T, R)                                                                                         \
  (const char* left, const char* right, const int* n, T* a, const int* lda, T* w, T* vl, const int* ldvl, T* vr, \
   const int* ldvr, T* work, const int* lwork, R* rwork, int* info, size_t, size_t)
DY_LAPACK2(geev, sgeev_, dgeev_, cgeev_, zgeev_, DY_REAL, DY_COMPLEX)
#undef DY_REAL
#undef DY_COMPLEX

// Least squares: by QR of a matrix of full rank; by QR with pivots; by divide and conquer, or QR, on singular values.
#define DY_ARGS(T, R)                                                                                                      \
  (const char* trans, const int* m, const int* n, const int* columns, T* a, const int* lda, T* b, const int* ldb, T* work, \
   const int* lwork, int* info, size_t)
DY_LAPACK(gels, sgels_, dgels_, cgels_, zgels_, DY_ARGS)
#undef DY_ARGS
#define DY_REAL(T, R)                                                                                                     \
  (const int* m, const int* n, const int* columns, T* a, const int* lda, T* b, const int* ldb, int* jpvt, const R* rcond, \
   int* rank, T* work, const int* lwork, int* info)
#define DY_COMPLEX(T, R)                                                                                                  \
  (const int* m, const int* n, const int* columns, T* a, const int* lda, T* b, const int* ldb, int* jpvt, const R* rcond, \
   int* rank, T* work, const int* lwork, R* rwork, int* info)
DY_LAPACK2(gelsy, sgelsy_, dgelsy_, cgelsy_, zgelsy_, DY_REAL, DY_COMPLEX)
#undef DY_REAL
#undef DY_COMPLEX
#define DY_REAL(T, R)                                                                                                \
  (const int* m, const int* n, const int* columns, T* a, const int* lda, T* b, const int* ldb, R* s, const R* rcond, \
   int* rank, T* work, const int* lwork, int* iwork, int* info)
#define DY_COMPLEX(T, R)                                                                                             \
  (const int* m, const int* n, const int* columns, T* a, const int* lda, T* b, const int* ldb, R* s, const R* rcond, \
   int* rank, T* work, const int* lwork, R* rwork, int* iwork, int* info)
DY_LAPACK2(gelsd, sgelsd_, dgelsd_, cgelsd_, zgelsd_, DY_REAL, DY_COMPLEX)
#undef DY_REAL
#undef DY_COMPLEX
#define DY_REAL(T, R)                                                                                                \
  (const int* m, const int* n, const int* columns, T* a, const int* lda, T* b, const int* ldb, R* s, const R* rcond, \
   int* rank, T* work, const int* lwork, int* info)
#define DY_COMPLEX(T, R)                                                                                             \
  (const int* m, const int* n, const int* columns, T* a, const int* lda, T* b, const int* ldb, R* s, const R* rcond, \
   int* rank, T* work, const int* lwork, R* rwork, int* info)
DY_LAPACK2(gelss, sgelss_, dgelss_, cgelss_, zgelss_, DY_REAL, DY_COMPLEX)
#undef DY_REAL
#undef DY_COMPLEX
#undef DY_LAPACK
#undef DY_LAPACK2

}  // namespace dyadic::inline v1::lapack
