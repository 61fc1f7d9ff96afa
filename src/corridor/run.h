// The steps of a call that writing into given tensors (write.cpp) shares with plain calls (corridor.cpp).
#pragma once
#include "corridor/call.h"

namespace dyadic::inline v1 {

bool wants_grad(const Arg* args, int n);
// Kernels that compute know real numbers only: an op of complex tensors is a composition where it has one.
bool goes_by_parts(const OpDef& op, const char* name, const Arg* args, int n);
// The kernel with its workspace, into new outputs or those of `c`, whatever their dtypes.
void execute(Call& c, bool allocate);
void observe(Op id, const OpDef& op, const Call& c);  // for counters, shadows and anomaly mode
void compose(Op id, const OpDef& op, const Arg* args, Tensor* out);
// The arguments with those that C++ left out of the call behind them, in `all`: compositions read them all.
Arg* with_defaults(Op id, const Arg* args, int& n, Arg* all);
bool has_narrow_index(const OpDef& op, const Arg* args);
struct WideIndex {  // the arguments with int64 positions
  Tensor held;
  Arg args[kMaxArgs];
  WideIndex(const OpDef& op, const Arg* given, int n);
};

}  // namespace dyadic::inline v1
