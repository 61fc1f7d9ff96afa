// The two ops on eigenvalues of Hermitian matrices share LAPACK's syevd and heevd.
#pragma once
#include "ops/linalg/matrices.h"

namespace dyadic::inline v1::ops {

inline void check_uplo(const char* who, std::string_view uplo) {
  DY_CHECK_AS(ValueError, uplo == "L" || uplo == "U" || uplo == "l" || uplo == "u",
              "{}: unknown triangle: UPLO is \"{}\"; the known ones are L and U", who, uplo);
}

struct HermitianMatrices : Matrices {
  bool upper;  // the triangle that is read
};
// Of op(A, UPLO).
template <template <class> class Routine> static void plan_hermitian(Call& c) {
  HermitianMatrices p;
  p.upper = c.text(1) == "U" || c.text(1) == "u";
  plan_matrices<Routine>(c, p);
}

template <class T> struct Hermitian {
  using R = lapack::Real<T>;
  const HermitianMatrices& given;
  const char *job, *uplo;
  int64_t batch;
  int n, lwork = 0, real_work = 0, integer_work = 0;
  T *a, *work;  // a: the matrices, then their vectors
  R *w, *rwork;
  int *iwork, *info;

  Hermitian(const HermitianMatrices& given, Scratch& room, const char* job)
      : given(given),
        job(job),
        uplo(given.upper ? "U" : "L"),
        batch(count(batch_of(given.in[0]))),
        n(narrow_int(given.in[0].size(-1))) {
    ask_scratch();
    a = room.take<T>(batch * n * n);
    w = room.take<R>(batch * n);
    work = room.take<T>(pieces(batch) * lwork);
    rwork = room.take<R>(pieces(batch) * real_work);
    iwork = room.take<int>(pieces(batch) * integer_work);
    info = room.take<int>(batch);
  }
  void decompose(const char* who) {
    load_columns(given.in[0], batch_of(given.in[0]), a, dtype_for<T>());
    for_each_matrix(batch, [&](int64_t i, int64_t piece) {
      const int ld = std::max(n, 1);
      T *m = a + i * n * n, *wk = work + piece * lwork;
      int* iw = iwork + piece * integer_work;
      info[i] = 0;
      if constexpr (lapack::is_complex<T>)
        lapack::syevd<T>(job, uplo, &n, m, &ld, w + i * n, wk, &lwork, rwork + piece * real_work, &real_work, iw, &integer_work,
                         info + i, 1, 1);
      else
        lapack::syevd<T>(job, uplo, &n, m, &ld, w + i * n, wk, &lwork, iw, &integer_work, info + i, 1, 1);
    });
    for (int64_t i = 0; i < batch; ++i)
      DY_CHECK_AS(LinAlgError, info[i] == 0,
                  "{}: the algorithm does not converge: A is {}, matrix {} of the batch; does it hold "
                  "NaN or infinities?",
                  who, describe(given.in[0]), i);
  }

 private:
  void ask_scratch() {
    const int ld = std::max(n, 1), ask = -1;
    T answer(0);
    R for_reals(0);
    int none = 0;
    if constexpr (lapack::is_complex<T>) {
      lapack::syevd<T>(job, uplo, &n, nullptr, &ld, nullptr, &answer, &ask, &for_reals, &ask, &integer_work, &ask, &none, 1, 1);
      real_work = narrow_int(asked(for_reals));
    } else {
      lapack::syevd<T>(job, uplo, &n, nullptr, &ld, nullptr, &answer, &ask, &integer_work, &ask, &none, 1, 1);
    }
    lwork = narrow_int(asked(answer));
  }
};

inline double hermitian_flops(const Tensor& a, double factor) {
  const double n = double(a.size(-1));
  return double(count(batch_of(a))) * factor * n * n * n;
}

}  // namespace dyadic::inline v1::ops
