// What is known of a pointwise op's lambdas before anything is compiled of them: which types they take, what they cost, which
// of their arguments they read.
#pragma once
#include "base/simd/simd.h"
#include "corridor/op_def.h"
#include "ops/probe.h"

namespace dyadic::DY_ISA {

template <int... I> struct Indices {};
template <class T, int N> struct MakeIndices;
#define DY_INDICES(n, ...)                      \
  template <class T> struct MakeIndices<T, n> { \
    using type = Indices<__VA_ARGS__>;          \
  };
DY_INDICES(0)
DY_INDICES(1, 0)
DY_INDICES(2, 0, 1)
DY_INDICES(3, 0, 1, 2)
DY_INDICES(4, 0, 1, 2, 3)
DY_INDICES(5, 0, 1, 2, 3, 4)
#undef DY_INDICES

template <class T> inline constexpr bool is_real = false;
template <> inline constexpr bool is_real<float> = true;
template <> inline constexpr bool is_real<double> = true;

// What a lambda of an op on integers alone takes: [](Whole auto a, Whole auto b) { return gcd(a, b); }
template <class V> inline constexpr bool is_vector = false;
template <class T> inline constexpr bool is_vector<Vec<T>> = true;
template <class V>
concept Whole = !is_vector<V>;

template <class T, bool Real = is_real<T>> struct LaneType {
  using type = Lane<T>;
};
template <class T> struct LaneType<T, true> {
  using type = Vec<T>;
};

struct OpInfo {
  const char* sig;
  const char* doc = "";
  const char* aliases = "";
  Amp amp = Amp::promote;
  bool inplace = false;
  bool internal = false;
  double low = -3, high = 3;
  const char* samples = "";
  const char* bad = "";
  const char* skip = "";
  bool bits = false;
  Tensor (*complex)(Args args) = nullptr;
  Op (*variant)(Arg* args, int& n) = nullptr;
};
struct NoGradient {};
inline constexpr NoGradient no_grad{};

// Whether the lambda takes vectors of floats.
template <class F, class V, int... I, int... J> constexpr bool takes(Indices<I...>, Indices<J...>) {
  return requires(V v) { F{}((void(I), v)..., (void(J), v)...); };
}
template <class F, int N, int P>
inline constexpr bool takes_floats =
    takes<F, Vec<float>>(typename MakeIndices<void, N>::type(), typename MakeIndices<void, P>::type());

template <class F, int N, int P, int... I, int... J> constexpr Probe probe(Cost* cost, Indices<I...>, Indices<J...>) {
  return F{}(Probe(cost, I)..., Probe(cost, 16 + J)...);
}
template <class F, int N, int P> constexpr Cost measure() {
  Cost c;
  Probe r = probe<F, N, P>(&c, typename MakeIndices<void, N>::type(), typename MakeIndices<void, P>::type());
  if (r.id >= 0) c.used |= 1u << r.id;
  c.identity = r.id == 0 && c.flops == 0;
  c.fits_bf16 = r.fits_bf16;
  return c;
}

template <class F, int P, int... I, int... J> constexpr auto probe_complex(Cost* cost, Indices<I...>, Indices<J...>) {
  using C = Complex<Probe>;
  return F{}(C(Probe(cost, I), Probe(cost, I))..., C(Probe(cost, 16 + J))...);
}
template <class F, int N, int P> constexpr Cost measure_complex() {
  Cost c;
  probe_complex<F, P>(&c, typename MakeIndices<void, N>::type(), typename MakeIndices<void, P>::type());
  return c;
}
template <class F, int N, int P>
inline constexpr bool gives_reals = __is_same(
    decltype(probe_complex<F, P>(nullptr, typename MakeIndices<void, N>::type(), typename MakeIndices<void, P>::type())),
    Probe);

// The gradient of a holomorphic function: the conjugate of what the real gradient's formula gives of the conjugate of g.
template <class B> struct Conjugated {
  template <class G, class... X> constexpr auto operator()(G g, X... x) const { return conj(B{}(conj(g), x...)); }
};
template <class B> constexpr auto conjugated(B b) {
  if constexpr (__is_same(B, NoGradient))
    return b;
  else
    return Conjugated<B>{};
}

}  // namespace dyadic::DY_ISA
