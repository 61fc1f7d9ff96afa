#include "ops/tracer.h"

#include "dyadic/ops.h"

namespace dyadic::inline v1 {
namespace {

constinit thread_local Tracer* t_tracer = nullptr;

Traced apply(Primitive f, Traced a, Traced b = Traced(), Traced c = Traced()) { return Tracer::current().apply(f, a, b, c); }

// The vocabulary of lambdas in terms of ops.
Tensor compute(Primitive f, const Tensor& a, const Tensor& b, const Tensor& c) {
  switch (f) {
#define DY_SAME(name)   \
  case Primitive::name: \
    return call(Op::name##_, a);
#define DY_CALLED(name, op) \
  case Primitive::name:     \
    return dyadic::op(a, b);
#define DY_OPERATOR(name, op) DY_CALLED(name, name)
    DY_PRIMS1(DY_SAME)
    DY_PRIM_OPERATORS(DY_OPERATOR)
    DY_CALLED(max, maximum)
    DY_CALLED(min, minimum)
    DY_CALLED(div_floor, floor_divide)
    DY_CALLED(div_trunc, trunc_divide)
    DY_CALLED(pow, pow)
    DY_CALLED(atan2, atan2)
    DY_CALLED(hypot, hypot)
    DY_CALLED(fmod, fmod)
    DY_CALLED(remainder, remainder)
    DY_CALLED(copysign, copysign)
    DY_CALLED(zeta, zeta)
    DY_CALLED(igamma, igamma)
    DY_CALLED(igammac, igammac)
#undef DY_SAME
#undef DY_CALLED
#undef DY_OPERATOR
    case Primitive::neg:
      return neg(a);
    case Primitive::logical_not:
      return logical_not(a);
    case Primitive::select:
      return where(a, b, c);
  }
  return Tensor();
}

}  // namespace

Tracer::Tracer() : before_(t_tracer) { t_tracer = this; }
Tracer::~Tracer() { t_tracer = before_; }
Tracer& Tracer::current() { return *t_tracer; }

Traced TensorTracer::enter(const Tensor& t) {
  values_.push_back(t);
  Traced r;
  r.id = int32_t(values_.size()) - 1;
  return r;
}
Traced TensorTracer::constant(double v) { return enter(scalar_tensor(v)); }
Traced TensorTracer::apply(Primitive f, Traced a, Traced b, Traced c) {
  const auto get = [this](Traced t) { return t.id < 0 ? Tensor() : value(t); };
  return enter(compute(f, get(a), get(b), get(c)));
}

Traced::Traced(double c) { *this = Tracer::current().constant(c); }
Traced::Traced(float c) : Traced(double(c)) {}
Traced::Traced(int c) : Traced(double(c)) {}

#define DY_DEFINE1(name) \
  Traced name(Traced a) { return apply(Primitive::name, a); }
#define DY_DEFINE2(name) \
  Traced name(Traced a, Traced b) { return apply(Primitive::name, a, b); }
#define DY_DEFINE3(name, op) \
  Traced operator op(Traced a, Traced b) { return apply(Primitive::name, a, b); }
DY_PRIMS1(DY_DEFINE1)
DY_PRIMS2(DY_DEFINE2)
DY_PRIM_OPERATORS(DY_DEFINE3)
Traced operator-(Traced a) { return apply(Primitive::neg, a); }
Traced operator!(Traced a) { return apply(Primitive::logical_not, a); }
Traced select(Traced mask, Traced a, Traced b) { return apply(Primitive::select, mask, a, b); }

}  // namespace dyadic::inline v1
