// The corridor's side of counters.h.
#pragma once
#include "corridor/call.h"
#include "dyadic/counters.h"

namespace dyadic::inline v1 {
void count_call(Op id, const OpDef& op, const Call& call);
void compare_with_shadow(Op id, const OpDef& op, const Arg* args, int n, const Tensor* out, int nout);  // rounding.cpp
void watch_result(Op id, const OpDef& op, const Arg* args, int n, const Tensor* out, int nout);         // anomaly.cpp
void raise_anomaly(const char* node, const Tensor& gradient, int input);  // an Error if that is asked for and it is NaN
// Work outside of ops (a fused optimizer step): counted under a name.
void count_work(const char* name, DType dtype, double flops, double bytes);
}  // namespace dyadic::inline v1
