// What becomes of a call's results: new tensors, the first argument overwritten (name_ forms), tensors given with out=.
#include <algorithm>
#include <optional>

#include "corridor/batching.h"
#include "corridor/run.h"
#include "corridor/signature.h"
#include "corridor/tape.h"
#include "loops/blocked.h"
#include "tensor/resize.h"

namespace dyadic::inline v1 {

bool (*g_defer)(const Invocation&, const OpDef&) = nullptr;
bool (*g_feed)(const Call&, void*) = nullptr;
bool (*g_defer_in_place)(const Invocation&, const OpDef&) = nullptr;
int64_t g_least_deferred = 1024;

namespace {

// The values and the history of what is about to be written.
Tensor copy_with_history(const Tensor& self) {
  const NoGrad guard;
  Tensor copy = self.clone();
  TensorImpl &to = *copy.impl(), &from = *self.impl();
  if (!from.node) return copy;
  from.node->refs.fetch_add(1, std::memory_order_relaxed);
  to.node = from.node;
  to.output = from.output;
  to.flags |= kRequiresGrad;
  return copy;
}

// The arguments of a composition whose result is written over args[0]: its parts may keep what they are given.
struct Kept {
  Tensor self;
  Arg args[kMaxArgs];
  Kept(const Arg* given, int n) : self(*given[0].tensor) {
    if (!(t_modes & kNoGrad) && wants_grad(given, n)) self = copy_with_history(self);
    std::copy(given, given + n, args);
    args[0].tensor = &self;
  }
};

// name_ of a composition: its result, written over self.
void compose_inplace(Op id, const OpDef& op, const Arg* args, int n) {
  const Tensor& self = *args[0].tensor;
  if (!(t_modes & kNoGrad) && wants_grad(args, n)) check_recordable(op_name(id), self);
  Tensor result;
  Arg all[kMaxArgs];
  compose(id, op, Kept(with_defaults(id, args, n, all), n).args, &result);
  DY_CHECK(result.sizes() == self.sizes(), "{}_: the result does not fit: self is {}, the result {}; use the out-of-place form",
           op_name(id), describe(self), shape_text(result.sizes()));
  Arg copy[] = {Arg(self), Arg(result)};
  call_op_inplace(Op::copy_, copy, 2);
  if (Node* node = self.impl()->node; node && node->id == Op::copy_) node->shown = id;
}

// Floats do not become integers, complex numbers not real ones, numbers not bool.
bool keeps_kind(DType from_dtype, DType to_dtype) {
  const Format &from = *from_dtype.format(), &to = *to_dtype.format();
  return !(from.def->kind == Kind::floating && to.def->kind != Kind::floating && to.def->kind != Kind::complex &&
           !to.is_scaled()) &&
         !(from.def->kind == Kind::complex && to.def->kind != Kind::complex) &&
         !(to.def->kind == Kind::boolean && &from != &to);
}

// Whether the gradient reads the old values of args[0].
bool reads_overwritten(const OpDef& op, const Arg* args, int n) {
  uint16_t read = 0;
  for_each_tensor(args, n, [&](const Tensor& t, int i) {
    if (t.impl()->flags & kRequiresGrad) read |= op.needs[std::min(i, 7)];
  });
  return read & in(0);
}
// First and last byte that a view's elements touch.
std::pair<const char*, const char*> extent(const TensorImpl& t) {
  const char *first = t.place(), *last = first + t.dtype.itemsize() - 1;
  for (int d = 0; d < t.ndim; ++d) (t.strides[d] < 0 ? first : last) += (t.sizes[d] - 1) * t.strides[d] * t.dtype.itemsize();
  return {first, last};
}
bool overlap(const Tensor& a, const Tensor& b) {
  const TensorImpl &x = *a.impl(), &y = *b.impl();
  if (x.storage != y.storage || x.numel == 0 || y.numel == 0) return false;
  if (a.is_meta()) return false;
  if (entries_of(*x.storage)) return true;
  if (x.dtype.is_blocked() || y.dtype.is_blocked()) return true;
  const auto [x0, x1] = extent(x);
  const auto [y0, y1] = extent(y);
  return x0 <= y1 && y0 <= x1;
}

// A kernel must not read what it has just written: x[1:].copy_(x[:-1]) gets the old values. (Pointwise loops see to it
// themselves.)
bool reads_written(Op id, const Arg& arg, const Tensor& self) {
  return arg.kind == Arg::Kind::tensor && overlap(self, *arg.tensor) && !(id == Op::copy_ && same_elements(self, *arg.tensor));
}
struct ReadFirst {  // the arguments, with copies of such operands
  Arg args[kMaxArgs];
  Tensor copies[kMaxArgs];
  ReadFirst(Op id, const Arg* given, int n) {
    const NoGrad guard;
    std::copy(given, given + n, args);
    for (int i = 1; i < n; ++i)
      if (reads_written(id, given[i], *given[0].tensor)) copies[i] = given[i].tensor->clone(), args[i].tensor = &copies[i];
  }
};

}  // namespace

void check_overwrites(const Call& c, const Tensor& self) {
  DY_CHECK(c.spec[0].shape() == self.sizes(),
           "{}_: the result does not fit: self is {}, the result {}; use the out-of-place form", c.name, describe(self),
           shape_text(c.spec[0].shape()));
  DY_CHECK(keeps_kind(c.spec[0].dtype, self.dtype()),
           "{}_: the result would lose its kind: self is {}, the result {}; use the out-of-place form", c.name, describe(self),
           c.spec[0].dtype.name());
  DY_CHECK_AS(TypeError, !self.dtype().is_scaled() || c.op.kind == OpKind::kernel,
              "{}_: self is {}: scaled tensors are written whole; use copy_", c.name, describe(self));
}

namespace {

// The inputs that the op overwrites.
template <class F> void for_written(const Call& c, F&& f) {
  for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int k) {
    if (c.op.writes & in(std::min(k, 7))) f(t);
  });
}

// What a result must be to be written into `t`.
void check_result(const char* who, const Tensor& t, DType dtype, Device device) {
  DY_CHECK(t.device() == device, "{}: out is on another device: it is {} on {}, the result is on {}", who, describe(t),
           t.device().name(), device.name());
  DY_CHECK(keeps_kind(dtype, t.dtype()), "{}: the result would lose its kind: out is {}, the result {}", who, describe(t),
           dtype.name());
  check_writable(who, t);
}

bool is_read(const Call& c, const Tensor& t) {
  bool read = false;
  for_each_tensor(c.args, c.nargs, [&](const Tensor& in, int) { read |= in.impl()->storage == t.impl()->storage; });
  return read;
}

// Whether a kernel may write `t` while it reads its inputs. Pointwise loops write any strides and dtype, and an element after
// they have read it; kernels write dense memory of their own.
bool writes_direct(const Call& c, int k, const Tensor& t) {
  const bool pointwise = c.op.kind == OpKind::pointwise;
  if (!pointwise && (!t.is_contiguous() || t.dtype() != c.spec[k].dtype)) return false;
  bool apart = !t.dtype().is_blocked();
  for_each_tensor(c.args, c.nargs, [&](const Tensor& in, int) {
    apart &= in.impl()->storage != t.impl()->storage || (pointwise && same_elements(in, t));
  });
  return apart;
}

// Into `out` or, where a kernel cannot write there, into new tensors. True: into `out`.
bool write_results(const Invocation& v, const OpDef& op, Tensor* results) {
  const std::span<const Tensor> out(v.out, size_t(v.nout));
  Call c(v.op, op, v.args, v.n, results);
  infer(c);
  bool direct = true;
  for (size_t k = 0; k < out.size(); ++k) {
    check_result(c.name, out[k], c.spec[k].dtype, c.spec[k].device);
    const bool fits = out[k].sizes() == c.spec[k].shape();
    if (!fits && is_read(c, out[k])) {  // it gets the result's shape when its old values have been read
      direct = false;
      continue;
    }
    if (!fits) resize_result(c.name, out[k], c.spec[k].shape());
    direct &= writes_direct(c, int(k), out[k]);
  }
  if (direct) std::copy(out.begin(), out.end(), results);
  execute(c, !direct);
  observe(c);
  return direct;
}

}  // namespace

void check_follows_base(const char* who, const Tensor& self) {
  const TensorImpl& t = *self.impl();
  DY_CHECK(
      (t_modes & kNoGrad) || !t.base || (t.flags & kView) || !(t.base->flags & kRequiresGrad),
      "{}_: a view that was made under no_grad is written while gradients are recorded: it is {}; its base, {}, would not hear "
      "of it: make the view outside of no_grad, or write inside",
      who, describe(self), describe(borrow(t.base)));
}

namespace {

// How many results there are.
int make_fresh(const Invocation& v, const OpDef& op) {
  if ((t_modes & kDeferring) && !any_batched(v.args, v.n) && g_defer(v, op)) return 1;
  Call c(v.op, op, v.args, v.n, v.out);
  infer(c);
  if (op.writes) for_written(c, [&](const Tensor& t) { check_writable(c.name, t); });
  execute(c, true);
  if (op.writes) for_written(c, [](const Tensor& t) { bump(t); });
  if (t_modes) observe(c);
  return c.nout;
}

}  // namespace

void call_fresh(const Invocation& v, const OpDef& op) {
  if (goes_by_parts(op, op_name(v.op), v.args, v.n)) [[unlikely]] {
    v.out[0] = op.complex(v.args);
    return;
  }
  const int count = make_fresh(v, op);
  if (t_modes & kNoGrad) {  // a recorded write into such a view would pass its base by: call_in_place refuses it
    if (op.kind == OpKind::view && v.args[0].tensor->requires_grad()) {
      set_base(*v.out[0].impl(), *v.args[0].tensor->impl());
      v.out[0].impl()->flags &= uint8_t(~kView);
    }
    return;
  }
  const bool grad = wants_grad(v.args, v.n);
  if (op.kind == OpKind::view) set_base(*v.out[0].impl(), *v.args[0].tensor->impl());
  if (grad) record(v.op, op, v.args, v.n, v.out, count);
}

void call_in_place(const Invocation& v, const OpDef& op) {
  if ((t_modes & kDeferring) && !any_batched(v.args, v.n) && g_defer_in_place(v, op)) return;
  const Tensor& self = *v.args[0].tensor;
  const char* name = op_name(v.op);
  check_writable(name, self);
  check_follows_base(name, self);
  if (op.kind == OpKind::composite) return compose_inplace(v.op, op, v.args, v.n);
  if (goes_by_parts(op, name, v.args, v.n)) {
    self.copy_(op.complex(Kept(v.args, v.n).args));
    return;
  }
  Tensor out[kMaxOutputs] = {self};
  std::optional<ReadFirst> first;
  for (int i = 1; i < v.n && op.kind == OpKind::kernel && !first; ++i)
    if (reads_written(v.op, v.args[i], self)) first.emplace(v.op, v.args, v.n);
  Call c(v.op, op, first ? first->args : v.args, v.n, out);
  infer(c);
  check_overwrites(c, self);
  const bool grad = !(t_modes & kNoGrad) && wants_grad(v.args, v.n);
  if (grad) check_recordable(name, self);
  const Tensor before = grad && reads_overwritten(op, v.args, v.n) ? copy_with_history(self) : self;
  execute(c, false);
  bump(self);
  if (t_modes) observe(c);
  if (!grad) return;
  Arg recorded[kMaxArgs];
  std::copy(v.args, v.args + v.n, recorded);
  recorded[0].tensor = &before;
  record_inplace(v.op, op, recorded, v.n, self);
}

void call_into(const Invocation& v, const OpDef& op) {
  const NoGrad guard;
  const char* name = op_name(v.op);
  Tensor results[kMaxOutputs];
  const bool composite = op.kind == OpKind::composite;
  if (composite || goes_by_parts(op, name, v.args, v.n)) {
    Arg all[kMaxArgs];
    int n = v.n;
    if (composite)
      compose(v.op, op, with_defaults(v.op, v.args, n, all), results);
    else
      results[0] = op.complex(v.args);
    for (int k = 0; k < v.nout; ++k) check_result(name, v.out[k], results[k].dtype(), results[k].device());
  } else if (write_results(v, op, results)) {
    for (int k = 0; k < v.nout; ++k) bump(v.out[k]);
    return;
  }
  for (int k = 0; k < v.nout; ++k) {
    resize_result(name, v.out[k], results[k].sizes());
    Arg copy[] = {Arg(v.out[k]), Arg(results[k])};
    call_op_inplace(Op::copy_, copy, 2);
  }
}

}  // namespace dyadic::inline v1
