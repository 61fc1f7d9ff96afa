// Mixed precision: matrix products in a low precision over f32 weights.
#pragma once
#include "dyadic/tensor.h"

namespace dyadic::inline v1 {

// While it lives, ops of this thread run by their records' policy: matmul, linear and attention in `dtype`; exp, log, softmax,
// cross_entropy ... in f32; others as their inputs promote. Weights are cast once per outermost scope. Backward runs in the
// dtypes of forward, outside of the scope.
class Autocast {
  DType before_;
  bool was_on_;

 public:
  explicit Autocast(DType dtype = bf16, bool enabled = true);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  static bool enabled();
  static DType dtype();  // of the scope that is entered last
};

}  // namespace dyadic::inline v1
