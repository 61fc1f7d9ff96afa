// What a scan does with a few elements: the operations, and prefix networks over vectors of doubles.
#pragma once
#include "loops/lanes.h"

namespace dyadic::DY_ISA {

namespace hn = hwy::HWY_NAMESPACE;
constexpr hn::ScalableTag<double> kDoubles;
using Doubles = hn::VFromD<decltype(kDoubles)>;
constexpr int64_t kLanes = HWY_LANES(double), kEight = 8, kVectors = kEight / kLanes;

template <class A> struct Plus {
  static constexpr A kNone = 0;
  DY_INLINE static A of(A a, A b) {
    if constexpr (std::is_integral_v<A>) return A(std::make_unsigned_t<A>(a) + std::make_unsigned_t<A>(b));
    return a + b;
  }
  DY_INLINE static Doubles of(Doubles a, Doubles b) { return hn::Add(a, b); }
};
template <class A> struct Times {
  static constexpr A kNone = 1;
  DY_INLINE static A of(A a, A b) {
    if constexpr (std::is_integral_v<A>) return A(std::make_unsigned_t<A>(a) * std::make_unsigned_t<A>(b));
    return a * b;
  }
  DY_INLINE static Doubles of(Doubles a, Doubles b) { return hn::Mul(a, b); }
};
template <class A> struct LogAddExp {
  static constexpr A kNone = -HUGE_VAL;
  static A of(A a, A b) {
    if (a != a || b != b) return a + b;
    const A top = a > b ? a : b, low = a > b ? b : a;
    if (top == A(HUGE_VAL) || low == A(-HUGE_VAL)) return top;
    return top + __builtin_log1p(__builtin_exp(low - top));
  }
  DY_INLINE static Doubles of(Doubles a, Doubles b) {
    using V = Vec<double>;
    const V x(a), y(b), top = select(x > y, x, y), low = select(x > y, y, x);
    const V sum = select(isinf(top) | (low == V(-HUGE_VAL)), top, top + log1p(exp(low - top)));
    return select(isnan(x) | isnan(y), x + y, sum).v;
  }
};

// What a compute type accumulates in.
template <class T> struct AccOf {
  using type = T;
};
template <> struct AccOf<float> {
  using type = double;
};

template <class T> DY_INLINE Doubles load_doubles(const T* p) {
  if constexpr (sizeof(T) == 8)
    return hn::LoadU(kDoubles, p);
  else
    return hn::PromoteTo(kDoubles, hn::LoadU(hn::Rebind<T, decltype(kDoubles)>(), p));
}
template <class T> DY_INLINE void store_doubles(Doubles v, T* p) {
  constexpr hn::Rebind<T, decltype(kDoubles)> kNarrow;
  if constexpr (sizeof(T) == 8)
    hn::StoreU(v, kDoubles, p);
  else
    hn::StoreU(hn::DemoteTo(kNarrow, v), kNarrow, p);
}
// Of a pair of halves of `step` lanes each, the upper one takes the last lane of the lower one (Sklansky's prefix network).
class Upwards {
  decltype(hn::SetTableIndices(kDoubles, static_cast<const int64_t*>(nullptr))) from_;
  hn::MFromD<decltype(kDoubles)> upper_;

 public:
  explicit Upwards(int64_t step) {
    alignas(64) int64_t lane[kLanes];
    alignas(64) double high[kLanes];
    for (int64_t i = 0; i < kLanes; i++) lane[i] = i & step ? (i & ~(2 * step - 1)) + step - 1 : i, high[i] = i & step ? 1 : 0;
    from_ = hn::SetTableIndices(kDoubles, lane);
    upper_ = hn::Gt(hn::Load(kDoubles, high), hn::Zero(kDoubles));
  }
  template <class Op> DY_INLINE Doubles apply(Doubles v) const {
    return hn::IfThenElse(upper_, Op::of(v, hn::TableLookupLanes(v, from_)), v);
  }
};

// Eight neighbours become their sums from the first on, by the same tree for any width of vectors.
class Eights {
  Upwards one_{1}, two_{2}, four_{4};
  decltype(hn::SetTableIndices(kDoubles, static_cast<const int64_t*>(nullptr))) last_;

 public:
  Eights() {
    alignas(64) int64_t top[kLanes];
    for (int64_t i = 0; i < kLanes; i++) top[i] = kLanes - 1;
    last_ = hn::SetTableIndices(kDoubles, top);
  }
  DY_INLINE Doubles last(Doubles v) const { return hn::TableLookupLanes(v, last_); }
  template <class Op> DY_INLINE void scan(Doubles (&v)[kVectors]) const {
    for (int64_t k = 0; k < kVectors; k++) {
      v[k] = one_.template apply<Op>(v[k]);
      if constexpr (kLanes > 2) v[k] = two_.template apply<Op>(v[k]);
      if constexpr (kLanes > 4) v[k] = four_.template apply<Op>(v[k]);
    }
    for (int64_t half = 1; half < kVectors; half *= 2)
      for (int64_t k = 0; k < kVectors; k++)
        if (k & half) v[k] = Op::of(v[k], last(v[(k & ~(2 * half - 1)) + half - 1]));
  }
};

template <class T, class Op> DY_INLINE double scan_eights(const T* x, T* y, int64_t n, double carry) {
  const Eights eights;
  Doubles before = hn::Set(kDoubles, carry);
  for (int64_t i = 0; i < n; i += kEight) {
    Doubles v[kVectors];
    for (int64_t k = 0; k < kVectors; k++) v[k] = load_doubles(x + i + k * kLanes);
    eights.template scan<Op>(v);
    for (int64_t k = 0; k < kVectors; k++) store_doubles(Op::of(before, v[k]), y + i + k * kLanes);
    before = Op::of(before, eights.last(v[kVectors - 1]));
  }
  return hn::GetLane(before);
}

// A sum of exponentials relative to the largest of their logarithms.
struct RunningSum {
  double top, sum;

  explicit RunningSum(double log) : top(log), sum(log == -HUGE_VAL ? 0 : 1) {}
  double log_of() const { return top + scalar_log(sum); }
  void raise(double to) {
    if (to != top) sum *= scalar_exp(top - to);
    top = to;
  }
  void add(double x) {
    raise(x > top ? x : top);
    sum += x == top ? 1 : scalar_exp(x - top);
  }
};

// log(cumsum(exp(x))) behind the logarithm of what came before: an exponential and a logarithm per element. Where the sum
// begins more than 32 below the largest of the eight its first terms would lose their digits (so do infinities): one by one.
template <class T> double scan_exponentials(const T* x, T* y, int64_t n, double carry) {
  using V = Vec<double>;
  const Eights eights;
  RunningSum run(carry);
  for (int64_t i = 0; i < n; i += kEight) {
    Doubles v[kVectors];
    const int64_t count = min_of(kEight, n - i);
    double most = run.top;
    if (count == kEight) {
      V top(most);
      for (int64_t k = 0; k < kVectors; k++) {
        v[k] = load_doubles(x + i + k * kLanes);
        top = select(V(v[k]) > top, V(v[k]), top);
      }
      most = reduce_max(top);
    }
    const double first = x[i] > run.top ? x[i] : run.top;
    if (count < kEight || !(most - first <= 32)) {
      for (int64_t j = i; j < i + count; j++) {
        run.add(x[j]);
        y[j] = T(run.log_of());
      }
      continue;
    }
    run.raise(most);
    for (int64_t k = 0; k < kVectors; k++) v[k] = exp(V(v[k]) - V(most)).v;
    eights.template scan<Plus<double>>(v);
    for (int64_t k = 0; k < kVectors; k++) store_doubles((V(most) + log(V(v[k]) + V(run.sum))).v, y + i + k * kLanes);
    run.sum += hn::GetLane(eights.last(v[kVectors - 1]));
  }
  return run.log_of();
}

template <class Op>
concept HasVectors = requires(Doubles v) { Op::of(v, v); };

}  // namespace dyadic::DY_ISA
