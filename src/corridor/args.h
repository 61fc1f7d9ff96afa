// Arguments by name: c[arg::dim] is the dim of a Call, a Grad (corridor/tape.h) or the Args of a composition, of the type that
// the signature says. A name that the signature does not have, or one that is put to use as another type, does not compile. An
// op's file lies in the namespace of its handles; another op's are spelled softmax_op::arg::dim.
#pragma once
#include "corridor/handles.h"
#include "dyadic/call.h"

namespace dyadic::inline v1 {

class Args {
  const Arg* a_;

 public:
  Args(const Arg* a) : a_(a) {}
  operator const Arg*() const { return a_; }
  const Arg& arg(AnyArg h) const { return a_[h.at]; }  // to be passed on
  bool has(AnyArg h) const { return arg(h).kind != Arg::Kind::none; }
  Tensor optional(AnyArg h) const { return arg(h).kind == Arg::Kind::tensor ? *arg(h).tensor : Tensor(); }

  // Of what is there.
  const Tensor& operator[](TensorArg h) const { return *arg(h).tensor; }
  const Tensor& operator[](LateTensorArg h) const { return *arg(h).tensor; }
  TensorList operator[](TensorsArg h) const { return std::span(arg(h).tensor, arg(h).n); }
  Scalar operator[](ScalarArg h) const { return arg(h).kind == Arg::Kind::real ? Scalar(arg(h).real) : arg(h).scalar; }
  int64_t operator[](IntArg h) const { return arg(h).integer; }
  double operator[](RealArg h) const { return arg(h).kind == Arg::Kind::scalar ? arg(h).scalar.real() : arg(h).real; }
  bool operator[](BoolArg h) const { return arg(h).boolean; }
  IntList operator[](IntsArg h) const { return {arg(h).ints, arg(h).n}; }
  DType operator[](DTypeArg h) const { return arg(h).dtype; }
  Device operator[](DeviceArg h) const { return arg(h).device; }
  std::string_view operator[](TextArg h) const { return {arg(h).text, arg(h).n}; }
};

namespace ops {
#include "op_args.inc"  // generated: namespace softmax_along_op::arg { inline constexpr IntArg dim{1}; ... }
}

}  // namespace dyadic::inline v1
