// The corridor's side of counters.h.
#pragma once
#include "base/parallel.h"
#include "corridor/call.h"
#include "dyadic/counters.h"

namespace dyadic::inline v1 {
struct Work {   // of one call
  DType dtype;  // as OpCount has it
  double flops = 0, bytes = 0;
};
Work work_of(const Call& call);                                           // of geometry alone
void raise_anomaly(const char* node, const Tensor& gradient, int input);  // an Error if that is asked for and it is NaN

// Within it calls compute in units of their own, as products of scaled codes do: what RoundingCounting finds there are events,
// and no squares, which would hide what is in the model's units. The whole is compared by compare_rounding.
class ScaledUnits {
  bool before_;

 public:
  ScaledUnits();
  ~ScaledUnits();
  ScaledUnits(const ScaledUnits&) = delete;
};
// Under RoundingCounting: a result of several calls as one op, beside what `wider` computes. Squares alone; its calls have the
// events.
void compare_rounding(const char* op, const Tensor& result, FunctionRef<Tensor()> wider);
}  // namespace dyadic::inline v1
