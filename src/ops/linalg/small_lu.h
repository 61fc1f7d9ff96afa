// Small matrices as the kernel for their LU factors takes them.
#pragma once
#include "ops/linalg/matrices.h"
#include "ops/linalg/small_lu_kernel.h"

namespace dyadic::inline v1::ops {

// Whether one step leads from each matrix of t, its batch expanded, to the next: `step`.
bool one_step(const Operand& t, IntList batch, int64_t& step);

// The matrices of an array, its batch expanded: where they lie if the kernel can read them there, else copied.
template <class T> class SmallInput {
  const Array& t_;
  IntList batch_;
  int64_t step_ = 0;
  bool copied_;
  T* copy_ = nullptr;

 public:
  SmallInput(const Array& t, IntList batch, Scratch& s)
      : t_(t), batch_(batch), copied_(t.dtype() != dtype_for<T>() || !one_step(t, batch, step_)) {
    if (copied_) copy_ = s.take<T>(count(batch) * t.size(-2) * t.size(-1));
  }
  SmallMatrices<const T> read() const {
    const int64_t rows = t_.size(-2), cols = t_.size(-1);
    if (!copied_) return {t_.data<T>(), step_, t_.stride(-2), t_.stride(-1)};
    load_rows(t_, batch_, copy_, dtype_for<T>());
    return {copy_, rows * cols, cols, 1};
  }
};
// A result: written in place, or copied and rounded with store().
template <class T> class SmallOutput {
  const Array& out_;
  T* copy_ = nullptr;

 public:
  SmallOutput(const Array& out, Scratch& s) : out_(out) {
    if (out.dtype() != dtype_for<T>()) copy_ = s.take<T>(out.numel());
  }
  SmallMatrices<T> matrices() const {
    return {copy_ ? copy_ : out_.data<T>(), out_.size(-2) * out_.size(-1), out_.size(-1), 1};
  }
  void store() const {
    if (copy_) ops::store(out_, copy_, dtype_for<T>());
  }
};

inline bool is_small_lu(const Operand& a) {
  return std::min(a.size(-2), a.size(-1)) > 0 && std::max(a.size(-2), a.size(-1)) <= kSmallLu;
}
// By two kernels, one for small matrices.
template <template <class> class Small, template <class> class Any, class P> static void plan_by_size(Call& c, const P& p) {
  is_small_lu(c.operand(0)) ? plan_matrices<Small>(c, p) : plan_matrices<Any>(c, p);
}

}  // namespace dyadic::inline v1::ops
