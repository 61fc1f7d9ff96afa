// The corridor's side of counters.h.
#pragma once
#include "corridor/call.h"
#include "dyadic/counters.h"

namespace dyadic::inline v1 {
struct Work {   // of one call
  DType dtype;  // as OpCount has it
  double flops = 0, bytes = 0;
};
Work work_of(const Call& call);                                           // of geometry alone
void raise_anomaly(const char* node, const Tensor& gradient, int input);  // an Error if that is asked for and it is NaN
}  // namespace dyadic::inline v1
