#include "ops/tracer.h"

#include "dyadic/ops.h"

namespace dyadic::inline v1 {
namespace {
constinit thread_local Tracer* t_tracer = nullptr;
Traced made(Tensor t) { return Tracer::current().enter(t); }
const Tensor& get(Traced t) { return Tracer::current().value(t); }
}  // namespace

Tracer::Tracer() : before_(t_tracer) { t_tracer = this; }
Tracer::~Tracer() { t_tracer = before_; }
Tracer& Tracer::current() { return *t_tracer; }
Traced Tracer::enter(const Tensor& t) {
  values_.push_back(t);
  Traced r;
  r.id = int32_t(values_.size()) - 1;
  return r;
}
Traced Tracer::constant(double v) { return enter(scalar_tensor(v)); }

Traced::Traced(double c) { *this = Tracer::current().constant(c); }
Traced::Traced(float c) : Traced(double(c)) {}
Traced::Traced(int c) : Traced(double(c)) {}

// The vocabulary of lambdas in terms of ops.
namespace prim {
#define DY_SAME(name) \
  Tensor name(const Tensor& a) { return call(Op::name##_, a); }
DY_PRIMS1(DY_SAME)
#undef DY_SAME
#define DY_CALLED(name, op) \
  Tensor name(const Tensor& a, const Tensor& b) { return dyadic::op(a, b); }
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
#undef DY_CALLED
}  // namespace prim

#define DY_DEFINE1(name) \
  Traced name(Traced a) { return made(prim::name(get(a))); }
#define DY_DEFINE2(name) \
  Traced name(Traced a, Traced b) { return made(prim::name(get(a), get(b))); }
#define DY_DEFINE3(name, op) \
  Traced operator op(Traced a, Traced b) { return made(dyadic::name(get(a), get(b))); }
DY_PRIMS1(DY_DEFINE1)
DY_PRIMS2(DY_DEFINE2)
DY_PRIM_OPERATORS(DY_DEFINE3)
Traced operator-(Traced a) { return made(neg(get(a))); }
Traced operator!(Traced a) { return made(logical_not(get(a))); }
Traced select(Traced mask, Traced a, Traced b) { return made(where(get(mask), get(a), get(b))); }

}  // namespace dyadic::inline v1
