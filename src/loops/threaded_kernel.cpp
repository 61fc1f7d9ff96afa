#include "loops/threaded_kernel.h"

#include "base/simd/simd.h"

namespace dyadic::DY_ISA {
namespace {

using V = Vec<float>;
using R = V::Raw;
constexpr int64_t kLanes = int64_t(V::size()), kBytes = kLanes * int64_t(sizeof(float));

// `at`: of the block's first element, in bytes.
using Handler = void (*)(const ThreadedStep*, int64_t at, R, R, R, R, R, R, R, R);

// Calls f(vector, which of the eight) for each, and goes on to the next step.
template <class F>
[[gnu::always_inline]] inline void each(const ThreadedStep* s, int64_t at, R a, R b, R c, R d, R e, R f, R g, R h, F one) {
  a = one(V(a), 0), b = one(V(b), 1), c = one(V(c), 2), d = one(V(d), 3);
  e = one(V(e), 4), f = one(V(f), 5), g = one(V(g), 6), h = one(V(h), 7);
  return reinterpret_cast<Handler>(s[1].run)(s + 1, at, a, b, c, d, e, f, g, h);
}
DY_INLINE float* place(const ThreadedStep* s, int64_t at) { return reinterpret_cast<float*>(s->memory + (at & s->moves)); }

void load(const ThreadedStep* s, int64_t at, R a, R b, R c, R d, R e, R f, R g, R h) {
  const float* p = place(s, at);
  each(s, at, a, b, c, d, e, f, g, h, [p](V, int k) __attribute__((always_inline)) { return V::load(p + k * kLanes).v; });
}
template <bool kStream> void store(const ThreadedStep* s, int64_t at, R a, R b, R c, R d, R e, R f, R g, R h) {
  float* p = place(s, at);
  each(s, at, a, b, c, d, e, f, g, h, [p](V x, int k) __attribute__((always_inline)) {
    if constexpr (kStream)
      x.stream(p + k * kLanes);
    else
      x.store(p + k * kLanes);
    return x.v;
  });
}
template <Arithmetic kOp> DY_INLINE V apply(V x, V y) {
  if constexpr (kOp == Arithmetic::neg) return -x;
  if constexpr (kOp == Arithmetic::abs) return abs(x);
  if constexpr (kOp == Arithmetic::sqrt) return sqrt(x);
  if constexpr (kOp == Arithmetic::add) return x + y;
  if constexpr (kOp == Arithmetic::sub) return x - y;
  if constexpr (kOp == Arithmetic::mul) return x * y;
  if constexpr (kOp == Arithmetic::div) return x / y;
  if constexpr (kOp == Arithmetic::max) return max(x, y);
  if constexpr (kOp == Arithmetic::min) return min(x, y);
}
template <Arithmetic kOp> void unary(const ThreadedStep* s, int64_t at, R a, R b, R c, R d, R e, R f, R g, R h) {
  each(s, at, a, b, c, d, e, f, g, h, [](V x, int) __attribute__((always_inline)) { return apply<kOp>(x, x).v; });
}
template <Arithmetic kOp, Against kWhat>
void binary(const ThreadedStep* s, int64_t at, R a, R b, R c, R d, R e, R f, R g, R h) {
  const float* p = place(s, at);
  const V number(s->number);
  each(s, at, a, b, c, d, e, f, g, h, [p, number](V x, int k) __attribute__((always_inline)) {
    if constexpr (kWhat == Against::memory) return apply<kOp>(x, V::load(p + k * kLanes)).v;
    if constexpr (kWhat == Against::memory_first) return apply<kOp>(V::load(p + k * kLanes), x).v;
    if constexpr (kWhat == Against::number) return apply<kOp>(x, number).v;
    if constexpr (kWhat == Against::number_first) return apply<kOp>(number, x).v;
    if constexpr (kWhat == Against::itself) return apply<kOp>(x, x).v;
  });
}
void end(const ThreadedStep*, int64_t, R, R, R, R, R, R, R, R) {}

void run(const ThreadedStep* program, int64_t begin, int64_t end) {
  const auto first = reinterpret_cast<Handler>(program->run);
  const R zero = V(0).v;
  for (int64_t at = begin * 4; at < end * 4; at += 8 * kBytes)
    first(program, at, zero, zero, zero, zero, zero, zero, zero, zero);
}

#define DY_HANDLER(...) reinterpret_cast<void (*)()>(__VA_ARGS__)
#define DY_FORMS(op)                                                                       \
  {DY_HANDLER(binary<op, Against::memory>), DY_HANDLER(binary<op, Against::memory_first>), \
   DY_HANDLER(binary<op, Against::number>), DY_HANDLER(binary<op, Against::number_first>), \
   DY_HANDLER(binary<op, Against::itself>)}

}  // namespace

extern const ThreadedKernel threaded_kernel = {
    .block = 8 * kLanes,
    .load = DY_HANDLER(load),
    .store = DY_HANDLER(store<false>),
    .stream = DY_HANDLER(store<true>),
    .unary = {DY_HANDLER(unary<Arithmetic::neg>), DY_HANDLER(unary<Arithmetic::abs>), DY_HANDLER(unary<Arithmetic::sqrt>)},
    .binary = {DY_FORMS(Arithmetic::add), DY_FORMS(Arithmetic::sub), DY_FORMS(Arithmetic::mul), DY_FORMS(Arithmetic::div),
               DY_FORMS(Arithmetic::max), DY_FORMS(Arithmetic::min)},
    .end = DY_HANDLER(end),
    .run = run,
};

}  // namespace dyadic::DY_ISA
