// The one way in. A call goes through, in this order:
//   small_pointwise    a few dense numbers: straight to the tile (pointwise.cpp)
//   invoke             int32 positions widened, the op's variant, what must be defined, autocast
//   compose            a composition calls other ops and is done; complex numbers may be such a one
//   call_fresh, call_in_place, call_into: what becomes of the results (results.cpp), around
//     infer            the record's rules: dtypes, shapes, devices
//     execute          the kernel's plan, memory, the kernel (execute.cpp)
//     observe          counters, shadows, anomaly mode
//   record             for backward (tape.cpp)
// Whatever can fail fails before the kernel runs, but for what depends on values.
#include <algorithm>

#include "corridor/batching.h"
#include "corridor/observer.h"
#include "corridor/run.h"
#include "corridor/signature.h"
#include "corridor/tape.h"

namespace dyadic::inline v1 {

constinit thread_local uint32_t t_modes = 0;
constinit Interceptor g_interceptors[kStages];

bool wants_grad(const Arg* args, int n) {
  bool any = false;
  for (int i = 0; i < n; ++i) {
    if (args[i].kind == Arg::Kind::tensor)
      any |= fresh(*args[i].tensor->impl()).flags & kRequiresGrad;
    else if (args[i].kind == Arg::Kind::tensors)
      for (uint32_t j = 0; j < args[i].n; ++j) any |= fresh(*args[i].tensor[j].impl()).flags & kRequiresGrad;
  }
  return any;
}

void infer(Call& c) {
  check_same_device(c.name, c.args, c.nargs);
  c.op.infer ? c.op.infer(c) : infer_pointwise(c);
}

void observe(const Call& c) {
  if (any_batched(c.args, c.nargs) || entries_of(c.out[0])) return;  // that of all entries has been
  for (const Interceptor& i : g_interceptors)
    if ((t_modes & i.modes) && i.observe) i.observe(c);
  if (t_modes & kObserving)
    for (Observer* o = t_observer; o; o = o->before()) o->called(c);
}

constinit thread_local Observer* t_observer = nullptr;
Observer::Observer() : before_(std::exchange(t_observer, this)), modes_(t_modes) { t_modes |= kObserving; }
Observer::~Observer() {
  t_observer = before_;
  t_modes = (t_modes & ~kObserving) | (modes_ & kObserving);
}

bool goes_by_parts(const OpDef& op, const char* name, const Arg* args, int n) {
  if (op.complex_kernel || (!op.complex && !(op.kind == OpKind::kernel && op.flops))) return false;
  bool any = false;
  for_each_tensor(args, n, [&](const Tensor& t, int) { any |= t.dtype().is_complex(); });
  if (!any) return false;
  DY_CHECK_AS(TypeError, op.complex, "{}: not defined for complex numbers; use real(), imag() or abs()", name);
  return true;
}

namespace {

// Nodes that a composition has made for its results are called by its name.
void name_nodes(Op id, std::span<const Tensor> results, uint64_t since) {
  for (const Tensor& t : results)
    if (t.defined() && t.impl()->node && t.impl()->node->seq >= since) t.impl()->node->shown = id;
}

// f() for the composition `id`, by which errors of its parts are called too: "take_along_dim: gather: index out of range ...".
// Those that have its name, or the beginning of it (rand in rand_like), speak for it already.
template <class F> auto in_name_of(Op id, F&& f) {
  const Inner inner;
  try {
    return f();
  } catch (Error& error) {
    const std::string text = error.what(), name = spelling(signature(id).shared_name);
    if (!name.starts_with(text.substr(0, text.find(':'))))
      static_cast<std::runtime_error&>(error) = std::runtime_error(name + ": " + text);
    throw;
  }
}

}  // namespace

std::vector<Tensor> compose_all(Op id, const OpDef& op, const Arg* args) {
  const uint64_t since = tape_position();
  std::vector<Tensor> all = in_name_of(id, [&] { return op.compose_all(args); });
  name_nodes(id, all, since);
  return all;
}

Arg* with_defaults(Op id, const Arg* args, int& n, Arg* all) {
  const std::vector<Parameter>& parameters = signature(id).parameters;
  std::copy(args, args + n, all);
  for (; size_t(n) < parameters.size(); ++n) all[n] = default_argument(parameters[size_t(n)]);
  return all;
}

void compose(Op id, const OpDef& op, const Arg* args, Tensor* out) {
  if (op.compose) {
    const uint64_t since = tape_position();
    out[0] = in_name_of(id, [&] { return op.compose(args); });
    return name_nodes(id, {out, 1}, since);
  }
  DY_ASSERT(!signature(id).returns_list());
  std::vector<Tensor> all = compose_all(id, op, args);
  std::move(all.begin(), all.end(), out);
}

namespace {

// What the record calls a Tensor must be one.
void check_defined(Op id, const Arg* args, int n) {
  if (is_made(id)) return;
  for (int i = 0; i < n; ++i) {
    bool undefined = false;
    if (args[i].kind == Arg::Kind::none) {
      const Parameter& p = signature(id).parameters[size_t(i)];
      undefined = p.type == "Tensor" && !p.optional;
    } else if (args[i].kind == Arg::Kind::tensors) {
      for (uint32_t k = 0; k < args[i].n; ++k) undefined |= !args[i].tensor[k].defined();
    }
    DY_CHECK(!undefined, "{}: {} is undefined: it is, or holds, Tensor(), which has no elements", op_name(id),
             signature(id).parameters[size_t(i)].name);
  }
}

void make_results(const Invocation& v, const OpDef& op) {
  if (v.list && op.compose_all) {
    *v.list = compose_all(v.op, op, v.args);
  } else if (v.list) {
    v.list->resize(kMaxOutputs);
    make_results({v.op, v.args, v.n, v.results, v.list->data()}, op);
    v.list->resize(signature(v.op).returns.size());
  } else if (op.kind == OpKind::composite) {
    compose(v.op, op, v.args, v.out);
  } else {
    call_fresh(v, op);
  }
}

// Autocast and its like, then the call.
void call_as_modes_say(const Invocation& v, const OpDef& op) {
  // A composition without a policy of its own is what its parts are.
  uint32_t modes = t_modes;
  if (op.kind == OpKind::composite && op.amp == Amp::promote) modes = 0;
  if (op.kind == OpKind::composite) modes &= kAutocast;
  Arg copy[kMaxArgs];
  Tensor held[kMaxArgs];
  std::copy(v.args, v.args + v.n, copy);
  Invocation changed = v;
  changed.args = copy;
  for (const Interceptor& i : g_interceptors)
    if ((modes & i.modes) && i.rewrite && i.rewrite(changed, op, held)) return;
  make_results(changed, op);
}

void call_known(const Invocation& v, const OpDef& op) {
  check_defined(v.op, v.args, v.n);
  if (v.results == Invocation::Results::in_place) return call_in_place(v, op);
  if (v.results == Invocation::Results::into) return call_into(v, op);
  const bool rewritten = t_modes & kRewriting;
  if (op.kind != OpKind::composite) return rewritten ? call_as_modes_say(v, op) : make_results(v, op);
  Arg all[kMaxArgs];
  Invocation whole = v;
  whole.args = with_defaults(v.op, v.args, whole.n, all);
  rewritten ? call_as_modes_say(whole, op) : make_results(whole, op);
}

bool has_narrow_index(const OpDef& op, const Arg* args) {
  return op.index >= 0 && args[op.index].kind == Arg::Kind::tensor && args[op.index].tensor->defined() &&
         args[op.index].tensor->dtype() == i32;
}
void call_with_wide_index(const Invocation& v, const OpDef& op) {
  const Tensor wide = v.args[op.index].tensor->to(i64);
  Arg args[kMaxArgs];
  std::copy(v.args, v.args + v.n, args);
  args[op.index].tensor = &wide;
  Invocation changed = v;
  changed.args = args;
  invoke(changed);
}

// The source of copy_() may lie on another device.
bool copies_between(const Invocation& v) {
  if (v.op != Op::copy_ || v.args[0].kind != Arg::Kind::tensor || v.args[1].kind != Arg::Kind::tensor) return false;
  const Tensor &to = *v.args[0].tensor, &from = *v.args[1].tensor;
  return to.defined() && from.defined() && to.device() != from.device() && !to.is_meta() && !from.is_meta();
}
void call_with_brought(const Invocation& v) {
  const Tensor source = v.args[1].tensor->to(v.args[0].tensor->device());
  Arg args[kMaxArgs];
  std::copy(v.args, v.args + v.n, args);
  args[1].tensor = &source;
  Invocation changed = v;
  changed.args = args;
  invoke(changed);
}

// Tensors that results are written into belong to the op that the caller named.
void check_out(const Invocation& v, const OpDef& op) {
  const Signature& s = signature(v.op);
  DY_CHECK_AS(TypeError, op.kind != OpKind::view && !s.returns_list(), "{}: it makes {}; it takes no out", s.name,
              s.returns_list() ? "a list" : "a view");
  DY_CHECK_AS(TypeError, size_t(v.nout) == s.returns.size(), "{}: {} results, {} tensors in out", s.name, s.returns.size(),
              v.nout);
  bool grad = wants_grad(v.args, v.n);
  for (int k = 0; k < v.nout; ++k) grad |= v.out[k].requires_grad();
  DY_CHECK(!grad || (t_modes & kNoGrad),
           "{}: a result given with out= has no gradient, but a tensor here requires one; leave out= away, or use no_grad",
           s.name);
}

}  // namespace

// What is no small_pointwise().
[[gnu::noinline]] static void invoke_any(const Invocation& v, const OpDef& op) {
  if (has_narrow_index(op, v.args)) [[unlikely]]
    return call_with_wide_index(v, op);
  if (copies_between(v)) [[unlikely]]
    return call_with_brought(v);
  if (v.results == Invocation::Results::into) check_out(v, op);
  if (!op.variant) return call_known(v, op);
  Arg copy[kMaxArgs];
  std::copy(v.args, v.args + v.n, copy);
  Invocation other = v;
  other.args = copy;
  other.op = op.variant(copy, other.n);
  call_known(other, op_def(other.op));
}

void invoke(const Invocation& v) {
  if (v.results == Invocation::Results::fresh && !v.list) return call_op(v.op, v.args, v.n, v.out);
  invoke_any(v, op_def(v.op));
}
static bool is_seldom_deferred(const Arg& a) {
  return a.kind == Arg::Kind::tensor && a.tensor->defined() && a.tensor->numel() < 4 * g_least_deferred;
}
// The commonest kind, in registers: a tenth of what a small call takes is writing and reading an Invocation.
void call_op(Op id, Arg* args, int n, Tensor* out) {
  const OpDef& op = op_def(id);
  if (op.kind == OpKind::pointwise) {
    const uint32_t modes = t_modes & ~kNoGrad;
    if ((!modes || (modes == kDeferring && is_seldom_deferred(args[0]))) && small_pointwise(id, op, args, n, out)) return;
  }
  invoke_any({id, args, n, Invocation::Results::fresh, out}, op);
}

GradMode::GradMode(bool on) : before_(t_modes) {
  t_modes = on && !t_inference ? t_modes & ~uint32_t(kNoGrad) : t_modes | kNoGrad;
}
GradMode::~GradMode() { t_modes = (t_modes & ~uint32_t(kNoGrad)) | (before_ & kNoGrad); }
bool GradMode::enabled() { return !(t_modes & kNoGrad); }
InferenceMode::InferenceMode(bool on) : before_(std::exchange(t_inference, on)), recording_(!on) {}
InferenceMode::~InferenceMode() { t_inference = before_; }
bool InferenceMode::is_enabled() { return t_inference; }

}  // namespace dyadic::inline v1
