// Tracer: gives the Traced values of this thread their meaning while it lives. This one computes: each step is an op on
// tensors.
#pragma once
#include <vector>

#include "dyadic/tensor.h"
#include "ops/traced.h"

namespace dyadic::inline v1 {

class Tracer {
  std::vector<Tensor> values_;
  Tracer* before_;

 public:
  Tracer();
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Traced enter(const Tensor& t);
  Traced constant(double v);
  const Tensor& value(Traced t) const { return values_[size_t(t.id)]; }
  static Tracer& current();
};

}  // namespace dyadic::inline v1
