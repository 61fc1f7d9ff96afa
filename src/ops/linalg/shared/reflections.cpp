#include "ops/linalg/reflections.h"

#include <algorithm>

namespace dyadic::inline v1::ops {

template <class T> Reflections<T>::Reflections(int m, int n, int columns, Scratch& s) : m_(m), n_(n) {
  const int64_t most = std::max(n, columns);
  v_ = s.take<T>(int64_t(m) * kPanel);
  triangle_ = s.take<T>(kPanel * kPanel);
  product_ = s.take<T>(most * kPanel);
  turned_ = s.take<T>(most * kPanel);
  int64_t bytes = 0;
  for (int at = 0; at < std::min(m, n); at += kPanel) {
    const Panel p = panel(at);
    for (const int to : {n - at - p.width, columns - at})
      for (const GemmCall& call : {inner(p, m, to), turn(p, true, to), outer(p, m, to)})
        if (to > 0) bytes = std::max(bytes, int64_t(plan_gemm(call).workspace));
  }
  room_ = s.take<char>(bytes);
}

// By columns, C is the transpose of a row-major matrix, and so are the products: C^T V, times T or its transpose, then C^T less
// that times V^T.
template <class T> GemmCall Reflections<T>::inner(const Panel& p, int ldc, int columns) const {
  const DType type = dtype_for<T>();
  return {columns, p.width, p.rows, {type, ldc, 1}, {type, 1, p.rows}, type, kPanel};
}
template <class T> GemmCall Reflections<T>::turn(const Panel& p, bool transposed, int columns) const {
  const DType type = dtype_for<T>();
  const int64_t row = transposed ? 1 : kPanel, column = transposed ? kPanel : 1;
  return {columns, p.width, p.width, {type, kPanel, 1}, {type, row, column}, type, kPanel};
}
template <class T> GemmCall Reflections<T>::outer(const Panel& p, int ldc, int columns) const {
  const DType type = dtype_for<T>();
  GemmCall call{columns, p.rows, p.width, {type, kPanel, 1}, {type, p.rows, 1}, type, ldc};
  call.accumulate = true;
  return call;
}

// The panel's vectors with their ones and zeros, and -T of I - V T V^T.
template <class T> void Reflections<T>::open(const Panel& p, const T* a, int lda, const T* tau) {
  for (int64_t j = 0; j < p.width; ++j) {
    const T* from = a + (p.at + j) * lda + p.at;
    T* to = v_ + j * p.rows;
    std::fill(to, to + j, T(0));
    to[j] = 1;
    std::copy(from + j + 1, from + p.rows, to + j + 1);
  }
  std::fill(triangle_, triangle_ + kPanel * kPanel, T(0));
  const int ldt = kPanel;
  lapack::larft<T>("F", "C", &p.rows, &p.width, v_, &p.rows, tau + p.at, triangle_, &ldt, 1, 1);
  for (int64_t i = 0; i < kPanel * kPanel; ++i) triangle_[i] = -triangle_[i];
}

// C [rows, columns] becomes (I - V T V^T) C, or its transpose's.
template <class T> void Reflections<T>::apply(const Panel& p, bool transposed, T* c, int ldc, int columns) {
  if (columns <= 0) return;
  run_gemm(plan_gemm(inner(p, ldc, columns)), {c, v_, product_, nullptr, room_});
  run_gemm(plan_gemm(turn(p, transposed, columns)), {product_, triangle_, turned_, nullptr, room_});
  run_gemm(plan_gemm(outer(p, ldc, columns)), {turned_, v_, c, nullptr, room_});
}

template <class T> void Reflections<T>::factor(T* a, int lda, T* tau) {
  for (int at = 0; at < std::min(m_, n_); at += kPanel) {
    const Panel p = panel(at);
    T* own = a + int64_t(at) * lda + at;
    int info = 0;
    lapack::geqr2<T>(&p.rows, &p.width, own, &lda, tau + at, product_, &info);
    open(p, a, lda, tau);
    apply(p, true, own + int64_t(p.width) * lda, lda, n_ - at - p.width);
  }
}

template <class T> void Reflections<T>::form(const T* a, int lda, const T* tau, int columns, T* q, int ldq) {
  for (int64_t j = 0; j < columns; ++j) {
    std::fill(q + j * ldq, q + j * ldq + m_, T(0));
    q[j * ldq + j] = 1;
  }
  const int k = std::min(m_, n_);
  for (int at = (k - 1) / kPanel * kPanel; at >= 0; at -= kPanel) {
    const Panel p = panel(at);
    open(p, a, lda, tau);
    apply(p, false, q + int64_t(at) * ldq + at, ldq, columns - at);  // before it the columns are those of the identity
  }
}

template class Reflections<float>;
template class Reflections<double>;

}  // namespace dyadic::inline v1::ops
