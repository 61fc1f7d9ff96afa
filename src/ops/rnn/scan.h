// What the recurrent scans share: their shapes, the order of their steps, the products between.
#pragma once
#include "loops/gemm.h"
#include "loops/pointwise.h"
#include "ops/rnn/rnn_kernel.h"
#include "ops/scratch.h"

namespace dyadic::inline v1::ops {

// Steps [T, N, ...] in the order they run, from the first or from the last.
struct Steps {
  int64_t count, rows, hidden;
  bool reverse;
  int64_t state = hidden;  // elements of a state: fewer than hidden where it is projected
  int64_t step(int64_t i) const { return reverse ? count - 1 - i : i; }
};

inline void check_state(const char* who, const Tensor& t, IntList sizes, const Tensor& gates) {
  DY_CHECK(t.sizes() == sizes && plain(t) == plain(gates), "{}: the state does not fit: it is {}, {} of {} is needed", who,
           describe(t), shape_text(sizes), gates.dtype().name());
}
// gates [T, N, kGates H], weight [kGates H, P], the state h [N, P] and an LSTM's c [N, H], all of one float dtype. P is H
// unless there is a projection [P, H]. h and c may be null.
template <int kGates>
Steps check_scan(const char* who, const Tensor& gates, const Tensor& weight, const Tensor* h, const Tensor* c, bool reverse,
                 const Tensor* projection = nullptr) {
  check_float(who, gates, "gates");
  const int64_t hidden = weight.dim() == 2 ? weight.size(0) / kGates : 0;
  const bool matrices =
      gates.dim() == 3 && weight.dim() == 2 && gates.size(2) == weight.size(0) && weight.size(0) % kGates == 0;
  const std::string all = kGates > 1 ? fmt::format("{} H", kGates) : "H";
  if (projection)
    DY_CHECK(matrices && projection->dim() == 2 && projection->size(0) == weight.size(1) && projection->size(1) == hidden,
             "{}: sizes do not fit: gates is {}, weight is {}, projection is {}; they are [T, N, {}], [{}, P] and [P, H]", who,
             describe(gates), describe(weight), describe(*projection), all, all);
  DY_CHECK(projection || (matrices && weight.size(1) == hidden),
           "{}: sizes do not fit: gates is {}, weight is {}; they are [T, N, {}] and [{}, H]", who, describe(gates),
           describe(weight), all, all);
  const Steps s{gates.size(0), gates.size(1), hidden, reverse, weight.size(1)};
  DY_CHECK(s.count > 0, "{}: no time step: gates is {}", who, describe(gates));
  for (const Tensor* t : {&weight, projection})
    DY_CHECK_AS(TypeError, !t || plain(*t) == plain(gates), "{}: dtypes differ: gates is {}, {} is {}; convert one with .to",
                who, describe(gates), t == projection ? "projection" : "weight", describe(*t));
  if (h) check_state(who, *h, {s.rows, s.state}, gates);
  if (c) check_state(who, *c, {s.rows, s.hidden}, gates);
  return s;
}

inline void set_spec(Spec& spec, const Tensor& like, std::initializer_list<int64_t> sizes) {
  spec.dtype = plain(like);
  spec.device = like.device();
  spec.shape({sizes.begin(), sizes.size()});
}

inline char* row_of(const Tensor& t, int64_t i) {  // t[i]
  return t.impl()->data() + i * (t.numel() / std::max<int64_t>(t.size(0), 1)) * t.dtype().itemsize();
}

// A call's tensors in the type that the recurrence runs in, f32 or f64: a state that is rounded at every step forgets. Those of
// another dtype are converted in workspace, results back at the end.
class Wide {
  const Call& c_;
  Scratch scratch_;
  Tensor in_[kMaxArgs], out_[kMaxOutputs];
  Tensor place(const Tensor& t, IntList sizes, DType given) { return given == type ? t : scratch_.tensor(sizes, type); }

 public:
  const DType type;
  explicit Wide(const Call& c, void* base = nullptr) : c_(c), scratch_(base), type(c.spec[0].dtype == f64 ? f64 : f32) {
    for (int i = 0; i < c.nargs; ++i)
      if (c.args[i].kind == Arg::Kind::tensor) in_[i] = place(c.tensor(i), c.tensor(i).sizes(), c.tensor(i).dtype());
    for (int j = 0; j < c.nout; ++j) out_[j] = place(c.out[j], c.spec[j].shape(), c.spec[j].dtype);
  }
  void load() const {
    for (int i = 0; i < c_.nargs; ++i)
      if (in_[i].defined() && !in_[i].is_same(c_.tensor(i))) copy_elements(in_[i], c_.tensor(i));
  }
  void store() const {
    for (int j = 0; j < c_.nout; ++j)
      if (!out_[j].is_same(c_.out[j])) copy_elements(c_.out[j], out_[j]);
  }
  const Tensor& in(int i) const { return in_[i]; }
  const Tensor& out(int j) const { return out_[j]; }
  const void* data(int i) const { return in_[i].defined() ? in_[i].impl()->data() : nullptr; }
  Scratch& scratch() { return scratch_; }
};

// c [rows, n] (+)= a [rows, k] times weight, which is [n, k] or, not `transposed`, [k, n]; all of type d.
inline GemmCall product(DType d, int64_t rows, int64_t n, int64_t k, const void* a, const void* weight, bool transposed,
                        void* c, bool accumulate) {
  const Matrix b = transposed ? Matrix{weight, d, 1, k} : Matrix{weight, d, n, 1};
  return {rows, n, k, {a, d, k, 1}, b, c, d, n, nullptr, DType(), accumulate};
}

// The product that every step makes, of operands that move, and its workspace.
class StepProduct {
  GemmCall call_;
  char* packed_;

 public:
  StepProduct(Scratch& s, const GemmCall& call) : call_(call), packed_(s.take<char>(int64_t(gemm_workspace(call)))) {}
  void run(const void* a, void* c) {
    call_.a.data = a;
    call_.c = c;
    gemm(call_, packed_);
  }
};

// The product that every step makes with a weight [n, k] transposed once for all: c [rows, n] (+)= a [rows, k] weight^T.
class TransposedProduct {
  int64_t sizes_[2];
  DType type_;
  char* weight_;
  StepProduct step_;

 public:
  TransposedProduct(Wide& w, int64_t rows, int64_t n, int64_t k, bool accumulate)
      : sizes_{k, n},
        type_(w.type),
        weight_(w.scratch().take<char>(n * k * w.type.itemsize())),
        step_(w.scratch(), product(w.type, rows, n, k, nullptr, weight_, false, nullptr, accumulate)) {}
  void load(const Tensor& weight) const { copy_elements(make_over(weight_, sizes_, type_), weight.t()); }
  void run(const void* a, void* c) { step_.run(a, c); }
};

// Of a gradient that may be undefined.
inline Tensor plus(const Tensor& a, const Tensor& b) { return b.defined() ? add(a, b) : a; }
inline Tensor at_step(const Tensor& t, int64_t step) { return t.defined() ? select(t, 0, step) : t; }
// Part i of n columns of a step's gates.
inline Tensor gate_of(const Tensor& all, int64_t step, int64_t i, int64_t n) {
  return all.defined() ? narrow(at_step(all, step), -1, i * n, n) : all;
}
// The state that step i of the order began from.
inline Tensor before_step(const Tensor& states, const Tensor& first, const Steps& s, int64_t i) {
  return i ? at_step(states, s.step(i - 1)) : first;
}

// What stood at the step before each: [T, N, ...] with `first` before the first one. Of the steps in the other order, what
// stands at the step after each.
inline Tensor states_before(const Tensor& first, const Tensor& states, bool reverse) {
  const int64_t n = states.size(0);
  const Tensor start = unsqueeze(first, 0);
  const Tensor parts[] = {reverse ? narrow(states, 0, 1, n - 1) : start, reverse ? start : narrow(states, 0, 0, n - 1)};
  return cat(parts, 0);
}
inline Tensor rows_of(const Tensor& t) { return t.reshape({t.size(0) * t.size(1), t.size(2)}); }

}  // namespace dyadic::inline v1::ops
