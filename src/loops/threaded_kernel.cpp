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
DY_INLINE uint16_t* bf16_place(const ThreadedStep* s, int64_t at) { return reinterpret_cast<uint16_t*>(s->memory + at / 2); }
DY_INLINE V bf16_vector(const uint16_t* p) {  // one of load_bf16's two, without a look past it
  constexpr hn::ScalableTag<float> d;
  constexpr hn::RebindToUnsigned<decltype(d)> words;
  constexpr hn::Rebind<uint16_t, decltype(d)> half;
  return V(hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(words, hn::LoadU(half, p)))));
}
DY_INLINE float* place(const ThreadedStep* s, int64_t at) { return reinterpret_cast<float*>(s->memory + (at & s->moves)); }

DY_INLINE bool has_nan(R a, R b, R c, R d, R e, R f, R g, R h) {
  return any_nan({V(a), V(b)}) || any_nan({V(c), V(d)}) || any_nan({V(e), V(f)}) || any_nan({V(g), V(h)});
}
// Of a step that stores: the block ends here.
DY_INLINE void leave(const ThreadedStep* s) { *s->found_nan = true; }

void load(const ThreadedStep* s, int64_t at, R a, R b, R c, R d, R e, R f, R g, R h) {
  const float* p = place(s, at);
  each(s, at, a, b, c, d, e, f, g, h, [p](V, int k) __attribute__((always_inline)) { return V::load(p + k * kLanes).v; });
}
template <bool kStream> void store(const ThreadedStep* s, int64_t at, R a, R b, R c, R d, R e, R f, R g, R h) {
  if (has_nan(a, b, c, d, e, f, g, h)) [[unlikely]]
    return leave(s);
  float* p = place(s, at);
  each(s, at, a, b, c, d, e, f, g, h, [p](V x, int k) __attribute__((always_inline)) {
    if constexpr (kStream)
      x.stream(p + k * kLanes);
    else
      x.store(p + k * kLanes);
    return x.v;
  });
}
void load_as_bf16(const ThreadedStep* s, int64_t at, R a, R b, R c, R d, R e, R f, R g, R h) {
  const uint16_t* p = bf16_place(s, at);
  each(s, at, a, b, c, d, e, f, g, h, [p](V, int k) __attribute__((always_inline)) { return bf16_vector(p + k * kLanes).v; });
}
template <bool kStream> void store_as_bf16(const ThreadedStep* s, int64_t at, R a, R b, R c, R d, R e, R f, R g, R h) {
  if (has_nan(a, b, c, d, e, f, g, h)) [[unlikely]]
    return leave(s);
  uint16_t* p = bf16_place(s, at);
  const FloatPair pairs[] = {{V(a), V(b)}, {V(c), V(d)}, {V(e), V(f)}, {V(g), V(h)}};
  for (const FloatPair& x : pairs) {
    kStream ? stream_bf16<true>(x, p) : store_bf16<true>(x, p);
    p += 2 * kLanes;
  }
  return reinterpret_cast<Handler>(s[1].run)(s + 1, at, a, b, c, d, e, f, g, h);
}
void round_to_bf16(const ThreadedStep* s, int64_t at, R a, R b, R c, R d, R e, R f, R g, R h) {
  each(s, at, a, b, c, d, e, f, g, h, [](V x, int) __attribute__((always_inline)) {
    constexpr hn::ScalableTag<float> floats;
    constexpr hn::RebindToUnsigned<decltype(floats)> words;
    return hn::BitCast(floats, hn::And(upper_halves<true>(x), hn::Set(words, 0xffff0000u)));
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
template <Arithmetic kOp, Against kWhat>
void binary_bf16(const ThreadedStep* s, int64_t at, R a, R b, R c, R d, R e, R f, R g, R h) {
  const uint16_t* p = bf16_place(s, at);
  each(s, at, a, b, c, d, e, f, g, h, [p](V x, int k) __attribute__((always_inline)) {
    const V y = bf16_vector(p + k * kLanes);
    return kWhat == Against::memory ? apply<kOp>(x, y).v : apply<kOp>(y, x).v;
  });
}
void end(const ThreadedStep*, int64_t, R, R, R, R, R, R, R, R) {}

int64_t run(const ThreadedStep* program, int64_t begin, int64_t end, bool& found_nan) {
  const auto first = reinterpret_cast<Handler>(program->run);
  const R zero = V(0).v;
  found_nan = false;
  for (; begin < end; begin += 8 * kLanes) {
    first(program, begin * 4, zero, zero, zero, zero, zero, zero, zero, zero);
    if (found_nan) break;
  }
  return begin;
}

#define DY_HANDLER(...) reinterpret_cast<void (*)()>(__VA_ARGS__)
#define DY_FORMS(op)                                                                       \
  {DY_HANDLER(binary<op, Against::memory>), DY_HANDLER(binary<op, Against::memory_first>), \
   DY_HANDLER(binary<op, Against::number>), DY_HANDLER(binary<op, Against::number_first>), \
   DY_HANDLER(binary<op, Against::itself>)}
#define DY_BF16_FORMS(op) {DY_HANDLER(binary_bf16<op, Against::memory>), DY_HANDLER(binary_bf16<op, Against::memory_first>)}

}  // namespace

extern const ThreadedKernel threaded_kernel = {
    .block = 8 * kLanes,
    .load = DY_HANDLER(load),
    .store = DY_HANDLER(store<false>),
    .stream = DY_HANDLER(store<true>),
    .load_bf16 = DY_HANDLER(load_as_bf16),
    .store_bf16 = DY_HANDLER(store_as_bf16<false>),
    .stream_bf16 = DY_HANDLER(store_as_bf16<true>),
    .round_bf16 = DY_HANDLER(round_to_bf16),
    .unary = {DY_HANDLER(unary<Arithmetic::neg>), DY_HANDLER(unary<Arithmetic::abs>), DY_HANDLER(unary<Arithmetic::sqrt>)},
    .binary = {DY_FORMS(Arithmetic::add), DY_FORMS(Arithmetic::sub), DY_FORMS(Arithmetic::mul), DY_FORMS(Arithmetic::div),
               DY_FORMS(Arithmetic::max), DY_FORMS(Arithmetic::min)},
    .binary_bf16 = {DY_BF16_FORMS(Arithmetic::add), DY_BF16_FORMS(Arithmetic::sub), DY_BF16_FORMS(Arithmetic::mul),
                    DY_BF16_FORMS(Arithmetic::div), DY_BF16_FORMS(Arithmetic::max), DY_BF16_FORMS(Arithmetic::min)},
    .end = DY_HANDLER(end),
    .run = run,
};

}  // namespace dyadic::DY_ISA
