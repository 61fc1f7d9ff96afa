// What the recurrent scans share: their shapes, the order of their steps, the products between.
#pragma once
#include <cstring>
#include <utility>

#include "loops/gemm_plan.h"
#include "loops/pointwise.h"
#include "ops/common.h"
#include "ops/rnn/rnn_kernel.h"

namespace dyadic::inline v1::ops {

// Steps [T, N, ...] in the order they run, from the first or from the last.
struct Steps {
  int64_t count = 0, rows = 0, hidden = 0;
  bool reverse = false;
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

// One of a call's tensors in the type that the recurrence runs in: where it lies, or a copy in workspace.
struct WideTensor {
  const Format *given = nullptr, *own = nullptr;  // null: there is none
  int64_t count = 0, row = 0, room = -1;          // row: bytes of t[i] of [T, ...]; room: of the copy in workspace
  bool copied() const { return room >= 0; }
};
struct WideArray {
  char* at = nullptr;
  int64_t row = 0;
  char* step(int64_t i) const { return at ? at + i * row : nullptr; }  // t[i]
};

// A call's tensors in f32 or f64: a state that is rounded at every step forgets. Those of another dtype are converted in
// workspace, results back at the end.
class Wide {
  static constexpr int kInputs = 8;
  WideTensor in_[kInputs], out_[kMaxOutputs];
  int ins_ = 0, outs_ = 0;
  int64_t bytes_ = 0;

  WideTensor place(const Operand& o) {
    if (!o.defined()) return {};
    const int64_t rows = o.ndim ? std::max<int64_t>(o.lengths[0], 1) : 1;
    WideTensor t{o.format, type.format(), o.count, o.count / rows * type.itemsize()};
    if (o.dtype() != type) t.room = take(o.count * type.itemsize());
    return t;
  }

 public:
  DType type;
  Wide() = default;
  explicit Wide(const Call& c) : outs_(c.nout), type(c.spec[0].dtype == f64 ? f64 : f32) {
    for (int i = 0; i < c.nargs; ++i)
      if (c.args[i].kind <= Arg::Kind::tensor) in_[ins_++] = place(c.operand(i));
    for (int j = 0; j < outs_; ++j) out_[j] = place(c.result(j));
  }
  // Workspace behind the copies: where it begins.
  int64_t take(int64_t bytes) { return std::exchange(bytes_, bytes_ + (bytes + 63) / 64 * 64); }
  int64_t bytes() const { return bytes_; }

  WideArray in(int i, const Pointers& at) const { return array(in_[i], at.in[i], at); }
  WideArray out(int j, const Pointers& at) const { return array(out_[j], at.out[j], at); }
  void load(const Pointers& at) const {
    for (int i = 0; i < ins_; ++i)
      if (in_[i].copied()) copy(in_[i].own, in(i, at).at, in_[i].given, at.in[i], in_[i].count);
  }
  void store(const Pointers& at) const {
    for (int j = 0; j < outs_; ++j)
      if (out_[j].copied()) copy(out_[j].given, at.out[j], out_[j].own, out(j, at).at, out_[j].count);
  }
  // Result j becomes argument i, converted already.
  void assign(int j, int i, const Pointers& at) const {
    copy(out_[j].own, out(j, at).at, in_[i].own, in(i, at).at, in_[i].count);
  }
  void zero(int j, const Pointers& at) const { std::memset(out(j, at).at, 0, size_t(out_[j].count * type.itemsize())); }

 private:
  static WideArray array(const WideTensor& t, void* given, const Pointers& at) {
    if (!t.given) return {};
    return {t.copied() ? static_cast<char*>(at.workspace) + t.room : static_cast<char*>(given), t.row};
  }
  static void copy(const Format* to, void* to_data, const Format* from, const void* from_data, int64_t n) {
    const int64_t sizes[] = {n};
    copy_elements(Array(sizes, DType(to), to_data), Array(Operand(sizes, DType(from)), from_data));
  }
};

// c [rows, n] (+)= a [rows, k] times weight, which is [n, k] or, not `transposed`, [k, n]; all of type d.
inline GemmCall product(DType d, int64_t rows, int64_t n, int64_t k, bool transposed, bool accumulate) {
  return {rows, n, k, {d, k, 1}, transposed ? Matrix{d, 1, k} : Matrix{d, n, 1}, d, n, DType(), accumulate};
}

// The product that every step makes with one weight (and bias), of other operands that move, and its workspace.
class StepProduct {
  GemmPlan plan_;
  int64_t packed_ = 0;

 public:
  StepProduct() = default;
  StepProduct(Wide& w, const GemmCall& call) : plan_(plan_gemm(call)), packed_(w.take(int64_t(plan_.workspace))) {}
  void run(const void* a, const void* weight, void* c, const Pointers& at, const void* bias = nullptr) const {
    run_gemm(plan_, {a, weight, c, bias, static_cast<char*>(at.workspace) + packed_});
  }
};

// The product that every step makes with a weight [n, k] transposed once for all: c [rows, n] (+)= a [rows, k] weight^T.
class TransposedProduct {
  int64_t n_ = 0, k_ = 0, weight_ = 0;
  DType type_;
  StepProduct step_;

 public:
  TransposedProduct() = default;
  TransposedProduct(Wide& w, int64_t rows, int64_t n, int64_t k, bool accumulate)
      : n_(n),
        k_(k),
        weight_(w.take(n * k * w.type.itemsize())),
        type_(w.type),
        step_(w, product(w.type, rows, n, k, false, accumulate)) {}
  void load(const WideArray& weight, const Pointers& at) const {
    const int64_t given[] = {n_, k_}, turned[] = {k_, n_};
    copy_elements(Array(turned, type_, static_cast<char*>(at.workspace) + weight_),
                  Array(given, type_, weight.at).transposed(0, 1));
  }
  void run(const void* a, void* c, const Pointers& at) const {
    step_.run(a, static_cast<char*>(at.workspace) + weight_, c, at);
  }
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
inline Tensor step_rows(const Tensor& t) { return t.reshape({t.size(0) * t.size(1), t.size(2)}); }

}  // namespace dyadic::inline v1::ops
