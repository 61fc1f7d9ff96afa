// The two ops on singular values share LAPACK's gesdd.
#pragma once
#include "ops/linalg/matrices.h"

namespace dyadic::inline v1::ops {

// Per matrix a = u diag(s) vt, columns by columns; job: "A" (square u and vt), "S" (k columns, k rows), "N" (s alone).
template <class T> struct Singular {
  using R = lapack::Real<T>;
  const Matrices& given;
  const char* job;
  int64_t batch;
  int m, n, k, u_columns, vt_rows, lwork;
  int64_t real_work;
  T *a, *u, *vt, *work;
  R *s, *rwork;
  int *iwork, *info;

  Singular(const Matrices& given, Scratch& room, const char* job)
      : given(given),
        job(job),
        batch(count(batch_of(given.in[0]))),
        m(narrow_int(given.in[0].size(-2))),
        n(narrow_int(given.in[0].size(-1))),
        k(std::min(m, n)),
        u_columns(*job == 'A'   ? m
                  : *job == 'S' ? k
                                : 0),
        vt_rows(*job == 'A'   ? n
                : *job == 'S' ? k
                              : 0),
        lwork(scratch()),
        real_work(lapack::is_complex<T> ? real_scratch() : 0) {
    a = room.take<T>(batch * m * n);
    u = room.take<T>(batch * m * u_columns);
    vt = room.take<T>(batch * vt_rows * n);
    s = room.take<R>(batch * k);
    work = room.take<T>(pieces(batch) * lwork);
    rwork = room.take<R>(pieces(batch) * real_work);
    iwork = room.take<int>(pieces(batch) * 8 * k);
    info = room.take<int>(batch);
  }
  // hermitian: what stands above the diagonals is not read, but taken from below.
  void decompose(const char* who, bool hermitian = false) {
    load_columns(given.in[0], batch_of(given.in[0]), a, dtype_for<T>());
    if (hermitian) mirror();
    for_each_matrix(batch, [&](int64_t i, int64_t piece) {
      info[i] = 0;
      if (k == 0) return whole(u + i * m * u_columns, m), whole(vt + i * n * vt_rows, n);
      const int ldu = std::max(m, 1), ldvt = std::max(vt_rows, 1);
      T* w = work + piece * lwork;
      int* iw = iwork + piece * 8 * k;
      try {
        if constexpr (lapack::is_complex<T>)
          lapack::gesdd<T>(job, &m, &n, a + i * m * n, &m, s + i * k, u + i * m * u_columns, &ldu, vt + i * n * vt_rows, &ldvt,
                           w, &lwork, rwork + piece * real_work, iw, info + i, 1);
        else
          lapack::gesdd<T>(job, &m, &n, a + i * m * n, &m, s + i * k, u + i * m * u_columns, &ldu, vt + i * n * vt_rows, &ldvt,
                           w, &lwork, iw, info + i, 1);
      } catch (const Error&) {  // it hands NaN, made of infinities, to routines of its own that refuse them
        info[i] = 1;
      }
    });
    for (int64_t i = 0; i < batch; ++i)
      DY_CHECK_AS(LinAlgError, info[i] == 0,
                  "{}: the algorithm does not converge: A is {}, matrix {} of the batch; does it hold "
                  "NaN or infinities?",
                  who, describe(given.in[0]), i);
  }

 private:
  void mirror() const {
    for (int64_t i = 0; i < batch; ++i)
      for (int64_t col = 1; col < n; ++col)
        for (int64_t row = 0; row < col; ++row) {
          T* matrix = a + i * m * n;
          if constexpr (lapack::is_complex<T>)
            matrix[col * m + row] = std::conj(matrix[row * m + col]);
          else
            matrix[col * m + row] = matrix[row * m + col];
        }
  }
  // Of an empty matrix with job "A": the identity.
  void whole(T* square, int size) const {
    if (*job != 'A') return;
    std::fill(square, square + int64_t(size) * size, T(0));
    for (int64_t d = 0; d < size; ++d) square[d * size + d] = T(1);
  }
  int scratch() const {
    if (k == 0) return 0;
    const int ask = -1, ldvt = std::max(vt_rows, 1);
    int none = 0;
    T answer(0);
    if constexpr (lapack::is_complex<T>)
      lapack::gesdd<T>(job, &m, &n, nullptr, &m, nullptr, nullptr, &m, nullptr, &ldvt, &answer, &ask, nullptr, nullptr, &none,
                       1);
    else
      lapack::gesdd<T>(job, &m, &n, nullptr, &m, nullptr, nullptr, &m, nullptr, &ldvt, &answer, &ask, nullptr, &none, 1);
    return narrow_int(asked(answer));
  }
  int64_t real_scratch() const {  // as the text of zgesdd has it
    const int64_t mx = std::max(m, n), mn = k;
    return *job == 'N' ? 7 * mn : std::max(5 * mn * mn + 5 * mn, 2 * mx * mn + 2 * mn * mn + mn);
  }
};

inline double singular_flops(const Tensor& a, double vectors) {
  const double m = double(a.size(-2)), n = double(a.size(-1)), k = std::min(m, n), l = std::max(m, n);
  return double(count(batch_of(a))) * (4 * l * k * k + vectors * k * k * k);
}

}  // namespace dyadic::inline v1::ops
