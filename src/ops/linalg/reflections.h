// QR of large real matrices: LAPACK reflects panels of 32 columns, and what they do to the rest are three products (the compact
// WY form of Schreiber and Van Loan 1989). Columns are stored one after another.
#pragma once
#include "loops/gemm_plan.h"
#include "ops/linalg/matrices.h"

namespace dyadic::inline v1::ops {

template <class T> class Reflections {
  static constexpr int kPanel = 32;
  static constexpr int kSmall = 64;  // columns: LAPACK alone is as fast
  int m_, n_;
  T *v_ = nullptr, *triangle_ = nullptr, *turned_ = nullptr, *product_ = nullptr;
  char* room_ = nullptr;  // of the products

 public:
  static bool worthwhile(int m, int n) { return !lapack::is_complex<T> && std::min(m, n) > kSmall; }
  // For matrices [m, n] and Q of `columns`; scratch of one thread.
  Reflections(int m, int n, int columns, Scratch& s);
  // As geqrf: R above the diagonal, the reflections' vectors below.
  void factor(T* a, int lda, T* tau);
  // Q's first `columns` columns from what factor() left, which stays.
  void form(const T* a, int lda, const T* tau, int columns, T* q, int ldq);

 private:
  struct Panel {
    int at, width, rows;
  };
  Panel panel(int at) const { return {at, std::min(kPanel, std::min(m_, n_) - at), m_ - at}; }
  void open(const Panel& p, const T* a, int lda, const T* tau);
  void apply(const Panel& p, bool transposed, T* c, int ldc, int columns);
  GemmCall inner(const Panel& p, int ldc, int columns) const;
  GemmCall turn(const Panel& p, bool transposed, int columns) const;
  GemmCall outer(const Panel& p, int ldc, int columns) const;
};

extern template class Reflections<float>;
extern template class Reflections<double>;

}  // namespace dyadic::inline v1::ops
