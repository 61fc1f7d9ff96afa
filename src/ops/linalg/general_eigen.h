// The two ops on eigenvalues of any square matrix share LAPACK's geev.
#pragma once
#include <cmath>

#include "ops/linalg/matrices.h"

namespace dyadic::inline v1::ops {

template <class T> struct GeneralEigen {
  using R = lapack::Real<T>;
  using C = std::complex<R>;
  const Matrices& given;
  const char* job;  // of the right vectors: "V" or "N"
  int64_t batch;
  int n, lwork;
  T *a, *work, *vr;  // vr: per piece
  C *values, *vectors;
  R *wr, *rwork;  // per piece; real matrices: wr and wi
  int* info;

  GeneralEigen(const Matrices& given, Scratch& room, const char* job)
      : given(given), job(job), batch(count(batch_of(given.in[0]))), n(narrow_int(given.in[0].size(-1))), lwork(scratch()) {
    const int64_t wanted = *job == 'V' ? int64_t(n) * n : 0;
    a = room.take<T>(batch * n * n);
    values = room.take<C>(batch * n);
    vectors = room.take<C>(batch * wanted);
    vr = room.take<T>(pieces(batch) * wanted);
    work = room.take<T>(pieces(batch) * lwork);
    wr = room.take<R>(pieces(batch) * 2 * n);
    rwork = room.take<R>(lapack::is_complex<T> ? pieces(batch) * 2 * n : 0);
    info = room.take<int>(batch);
  }
  void decompose(const char* who) {
    load_columns(given.in[0], batch_of(given.in[0]), a, dtype_for<T>());
    for_each_matrix(batch, [&](int64_t i, int64_t piece) { one(i, piece); });
    for (int64_t i = 0; i < batch; ++i)
      DY_CHECK_AS(LinAlgError, info[i] == 0, "{}: {}: A is {}, matrix {} of the batch", who,
                  info[i] == kNotFinite ? "NaN or infinities" : "the algorithm does not converge", describe(given.in[0]), i);
  }

 private:
  static constexpr int kNotFinite = -99;

  void one(int64_t i, int64_t piece) {
    const int ld = std::max(n, 1);
    T *m = a + i * n * n, *w = work + piece * lwork;
    for (int64_t k = 0; k < int64_t(n) * n; ++k)  // geev does not end on them
      if (!std::isfinite(std::real(m[k])) || !std::isfinite(std::imag(m[k]))) {
        info[i] = kNotFinite;
        return;
      }
    if constexpr (lapack::is_complex<T>) {
      lapack::geev<T>("N", job, &n, m, &ld, values + i * n, nullptr, &ld, vectors + (*job == 'V' ? i * n * n : 0), &ld, w,
                      &lwork, rwork + piece * 2 * n, info + i, 1, 1);
    } else {
      R *re = wr + piece * 2 * n, *im = re + n;
      T* v = vr + (*job == 'V' ? piece * n * n : 0);
      lapack::geev<T>("N", job, &n, m, &ld, re, im, nullptr, &ld, v, &ld, w, &lwork, info + i, 1, 1);
      for (int64_t k = 0; k < n; ++k) values[i * n + k] = C(re[k], im[k]);
      if (*job == 'V') join_pairs(v, im, vectors + i * n * n);
    }
  }
  // A pair of conjugate eigenvalues has its vectors as real and imaginary part in two columns.
  void join_pairs(const R* v, const R* im, C* to) const {
    for (int64_t k = 0; k < n; ++k) {
      const bool pair = im[k] != 0;
      for (int64_t r = 0; r < n; ++r) {
        const R re = v[k * n + r], part = pair ? v[(k + 1) * n + r] : R(0);
        to[k * n + r] = C(re, part);
        if (pair) to[(k + 1) * n + r] = C(re, -part);
      }
      k += pair;
    }
  }
  int scratch() const {
    const int ld = std::max(n, 1), ask = -1;
    T answer(0);
    int none = 0;
    [[maybe_unused]] R real_answer(0);
    if constexpr (lapack::is_complex<T>)
      lapack::geev<T>("N", job, &n, nullptr, &ld, nullptr, nullptr, &ld, nullptr, &ld, &answer, &ask, &real_answer, &none, 1,
                      1);
    else
      lapack::geev<T>("N", job, &n, nullptr, &ld, nullptr, nullptr, nullptr, &ld, nullptr, &ld, &answer, &ask, &none, 1, 1);
    return narrow_int(asked(answer));
  }
};

inline DType complex_for(const Tensor& t) { return compute_dtype(plain(t)).to_complex(); }

}  // namespace dyadic::inline v1::ops
