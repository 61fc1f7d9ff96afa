// The steps of a call, in the order in which invoke.cpp takes them.
#pragma once
#include "corridor/call.h"

namespace dyadic::inline v1 {

// The modes in which an Interceptor may rewrite calls; in the others it only observes them.
inline constexpr uint32_t kRewriting = kAutocast | kAutocastOff;

inline constexpr uint32_t kWholeStep = 1024;  // a Mode: t_step_watcher sees every call, none goes a short way

bool wants_grad(const Arg* args, int n);
// Kernels that compute know real numbers only: an op of complex tensors is a composition where it has one.
bool goes_by_parts(const OpDef& op, const char* name, const Arg* args, int n);
void infer(Call& c);  // the rules: dtypes, shapes, devices
// Plans the call and runs it, into new outputs or those of `c`, whatever their dtypes.
void execute(Call& c, bool allocate);
void observe(const Call& c);
void compose(Op id, const OpDef& op, const Arg* args, Tensor* out);
std::vector<Tensor> compose_all(Op id, const OpDef& op, const Arg* args);
// The arguments with those that C++ left out of the call behind them, in `all`: compositions read them all.
Arg* with_defaults(Op id, const Arg* args, int& n, Arg* all);

// A compiled function's (graph/), in mode kDeferring. True: the call is put off, its result is there without data.
extern bool (*g_defer)(const Invocation& v, const OpDef& op);
extern bool (*g_defer_in_place)(const Invocation& v, const OpDef& op);  // what args[0] holds
// A call that is planned and can be computed in parts. True: it has run, with what it reads that was put off.
extern bool (*g_feed)(const Call& c, void* workspace);
// Elements: a smaller result is there sooner than it is put off (four times as many by the short way below). Tests put off all.
extern int64_t g_least_deferred;

// What becomes of the results.
void call_fresh(const Invocation& v, const OpDef& op);
void call_in_place(const Invocation& v, const OpDef& op);
void call_into(const Invocation& v, const OpDef& op);
void check_overwrites(const Call& c, const Tensor& self);  // that the result of a call in place fits into self

void plan_pointwise(Call& c);
// The common small case: a pointwise op on dense floats of one shape, of its own compute type, and numbers. False: not of that
// kind.
bool small_pointwise(Op id, const OpDef& op, const Arg* args, int n, Tensor* out);

}  // namespace dyadic::inline v1
