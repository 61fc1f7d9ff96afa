// How an op is called: arguments are a borrowed frame on the caller's stack, and every call goes through one corridor.
#pragma once
#include <string>
#include <string_view>

#include "dyadic/op_ids.h"  // generated from the op files' names: enum class Op
#include "dyadic/tensor.h"

namespace dyadic::inline v1 {

// One argument. Tensors, lists and text are borrowed from the caller for the length of the call.
struct Arg {
  enum class Kind : uint8_t { none, tensor, tensors, scalar, integer, real, boolean, ints, dtype, device, text };
  Kind kind = Kind::none;
  uint32_t n = 0;
  union {
    const Tensor* tensor;
    int64_t integer;
    double real;
    bool boolean;
    const int64_t* ints;
    const char* text;
    Device device;
  };
  union {
    Scalar scalar;
    DType dtype;
  };
  Arg() : tensor(nullptr), dtype() {}
  Arg(const Tensor& t) : kind(t.defined() ? Kind::tensor : Kind::none), tensor(&t), dtype() {}
  Arg(std::span<const Tensor> l) : kind(Kind::tensors), n(uint32_t(l.size())), tensor(l.data()), dtype() {}
  Arg(Scalar s) : kind(Kind::scalar), tensor(nullptr), scalar(s) {}
  Arg(int64_t i) : kind(Kind::integer), integer(i), dtype() {}
  Arg(double f) : kind(Kind::real), real(f), dtype() {}
  Arg(bool b) : kind(Kind::boolean), boolean(b), dtype() {}
  Arg(IntList l) : kind(Kind::ints), n(uint32_t(l.size())), ints(l.begin()), dtype() {}
  Arg(DType d) : kind(d ? Kind::dtype : Kind::none), tensor(nullptr), dtype(d) {}
  Arg(Device d) : kind(Kind::device), device(d), dtype() {}
  Arg(std::string_view s) : kind(Kind::text), n(uint32_t(s.size())), text(s.data()), dtype() {}
  Arg(const char* s) : Arg(std::string_view(s)) {}  // no bool
  template <class T> Arg(const std::optional<T>& v) : Arg(v ? Arg(*v) : Arg()) {}
};

inline constexpr int kMaxArgs = 10, kMaxOutputs = 4;

// One call: an op, its arguments, and what becomes of its results.
struct Invocation {
  enum class Results : uint8_t {
    fresh,     // new tensors, given to `out` (as many as the signature returns) or, where a list is returned, to `list`
    in_place,  // written into args[0]: the op's `name_` form
    into,      // written into the `nout` tensors of `out`, as many as the signature returns: they get the results' shapes and
               // keep their dtypes; without gradient
  };
  Op op;
  Arg* args;
  int n;
  Results results = Results::fresh;
  Tensor* out = nullptr;
  int nout = 0;
  std::vector<Tensor>* list = nullptr;
};
void invoke(const Invocation& call);  // the one way in: corridor/invoke.cpp

void call_op(Op op, Arg* args, int n, Tensor* out);  // the same for fresh results
inline void call_op_inplace(Op op, Arg* args, int n) { invoke({op, args, n, Invocation::Results::in_place}); }
inline void call_op_out(Op op, Arg* args, int n, std::span<const Tensor> out) {
  invoke({op, args, n, Invocation::Results::into, const_cast<Tensor*>(out.data()), int(out.size())});
}
inline std::vector<Tensor> call_op_all(Op op, Arg* args, int n) {  // whatever the op returns
  std::vector<Tensor> all;
  invoke({op, args, n, Invocation::Results::fresh, nullptr, 0, &all});
  return all;
}

template <class... A> inline Tensor call(Op op, const A&... a) {
  Arg args[] = {Arg(a)...};
  Tensor out;
  call_op(op, args, int(sizeof...(A)), &out);
  return out;
}
template <class... A> inline std::vector<Tensor> call_all(Op op, const A&... a) {
  Arg args[] = {Arg(a)...};
  return call_op_all(op, args, int(sizeof...(A)));
}
template <class... A> inline Tensor& call_inplace(Op op, const Tensor& self, const A&... a) {
  Arg args[] = {Arg(self), Arg(a)...};
  call_op_inplace(op, args, int(sizeof...(A)) + 1);
  return const_cast<Tensor&>(self);  // as libtorch does: a const Tensor is a handle whose values may change
}

template <class... A> inline const Tensor& call_out(Op op, const Tensor& out, const A&... a) {
  Arg args[] = {Arg(a)...};
  call_op_out(op, args, int(sizeof...(A)), {&out, 1});
  return out;
}

// Recording for backward, off or on again, while the guard lives (this thread).
class GradMode {
  uint32_t before_;

 public:
  explicit GradMode(bool on);
  ~GradMode();
  GradMode(const GradMode&) = delete;
  static bool enabled();
  static bool is_enabled() { return enabled(); }
};
struct NoGrad : GradMode {
  NoGrad() : GradMode(false) {}
};
// libtorch's names.
using AutoGradMode = GradMode;
using NoGradGuard = NoGrad;
// NoGrad whose new tensors stay out of gradients for good: an Error where backward would need one, or where one is written
// outside. off: recording is on again, and tensors are ordinary ones.
class InferenceMode {
  bool before_;
  GradMode recording_;  // begins after the first and ends before it

 public:
  explicit InferenceMode(bool on = true);
  ~InferenceMode();
  static bool is_enabled();
};

}  // namespace dyadic::inline v1
