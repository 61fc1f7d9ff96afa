// Tracer: gives the Traced values of this thread their meaning while it lives.
#pragma once
#include <vector>

#include "dyadic/tensor.h"
#include "ops/traced.h"

namespace dyadic::inline v1 {

// The functions that lambdas are made of (ops/traced.h).
enum class Primitive : uint8_t {
#define DY_NAME1(name) name,
#define DY_NAME3(name, op) name,
  DY_PRIMS1(DY_NAME1) DY_PRIMS2(DY_NAME1) DY_PRIM_OPERATORS(DY_NAME3) neg,
  logical_not,
  select,
#undef DY_NAME1
#undef DY_NAME3
};

class Tracer {
  Tracer* before_;

 public:
  Tracer();
  virtual ~Tracer();
  Tracer(const Tracer&) = delete;
  virtual Traced constant(double v) = 0;
  virtual Traced apply(Primitive f, Traced a, Traced b, Traced c) = 0;  // those that f takes
  static Tracer& current();
};

// This one computes: each step is an op on tensors.
class TensorTracer final : public Tracer {
  std::vector<Tensor> values_;

 public:
  Traced enter(const Tensor& t);
  Traced constant(double v) override;
  Traced apply(Primitive f, Traced a, Traced b, Traced c) override;
  const Tensor& value(Traced t) const { return values_[size_t(t.id)]; }
};

}  // namespace dyadic::inline v1
