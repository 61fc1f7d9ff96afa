// Small matrices as the kernel for their LU factors takes them.
#pragma once
#include "ops/linalg/matrices.h"
#include "ops/linalg/small_lu_kernel.h"

namespace dyadic::inline v1::ops {

// Whether one step leads from each matrix of t, its batch expanded, to the next: `step`.
bool one_step(const Tensor& t, IntList batch, int64_t& step);

// The matrices of a tensor, its batch expanded: where they lie if the kernel can read them there, else copied.
template <class T> class SmallInput {
  const Tensor& t_;
  IntList batch_;
  int64_t step_ = 0;
  bool copied_;
  T* copy_ = nullptr;

 public:
  SmallInput(const Tensor& t, IntList batch, Scratch& s)
      : t_(t), batch_(batch), copied_(t.dtype() != dtype_for<T>() || !one_step(t, batch, step_)) {
    if (copied_) copy_ = s.take<T>(count(batch) * t.size(-2) * t.size(-1));
  }
  SmallMatrices<const T> read() const {
    const int64_t rows = t_.size(-2), cols = t_.size(-1);
    if (!copied_) return {t_.data<T>(), step_, t_.strides().end()[-2], t_.strides().end()[-1]};
    load_rows(t_, batch_, copy_, dtype_for<T>());
    return {copy_, rows * cols, cols, 1};
  }
};
// A result: written in place, or copied and rounded with store().
template <class T> class SmallOutput {
  bool copied_;
  T* copy_ = nullptr;

 public:
  SmallOutput(const Spec& spec, Scratch& s) : copied_(spec.dtype != dtype_for<T>()) {
    if (copied_) copy_ = s.take<T>(spec.numel());
  }
  SmallMatrices<T> at(const Tensor& out) const {
    return {copied_ ? copy_ : out.data<T>(), out.size(-2) * out.size(-1), out.size(-1), 1};
  }
  void store(const Tensor& out) const {
    if (copied_) ops::store(out, copy_, dtype_for<T>());
  }
};

inline bool is_small_lu(const Call& c) {
  const Tensor& a = c.tensor(0);
  return std::min(a.size(-2), a.size(-1)) > 0 && std::max(a.size(-2), a.size(-1)) <= kSmallLu;
}
// A record's `workspace` and `forward` by two kernels, one for small matrices.
template <template <class> class Small, template <class> class Any> static int64_t workspace_by_size(const Call& c) {
  return is_small_lu(c) ? workspace_of<Small>(c) : workspace_of<Any>(c);
}
template <template <class> class Small, template <class> class Any> static void run_by_size(Call& c) {
  is_small_lu(c) ? run_kernel<Small>(c) : run_kernel<Any>(c);
}

}  // namespace dyadic::inline v1::ops
