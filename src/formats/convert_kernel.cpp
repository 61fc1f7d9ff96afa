// The loops between compute types (convert_kernel.h). Plain C++ whose branch-free bodies the compiler makes vectors of;
// rounding to odd it would not (its sums might trap), so that one is written in vectors.
#include "formats/convert_kernel.h"

#include "formats/bits.h"
#include "formats/block/lanes.h"

namespace dyadic::DY_ISA {
namespace {

template <class From, class To, class F> void loop(const void* source, void* target, int64_t n, F f) {
  const From* __restrict__ s = static_cast<const From*>(source);
  To* __restrict__ t = static_cast<To*>(target);
  for (int64_t i = 0; i < n; ++i) t[i] = f(s[i]);
}

// round_to_odd() of bits.h, lane by lane.
void to_odd(const double* s, float* t, int64_t n) {
  constexpr hn::ScalableTag<double> d{};
  constexpr hn::ScalableTag<uint64_t> du{};
  constexpr int64_t lanes = int64_t(hn::MaxLanes(d));
  const auto rest = hn::Set(du, (uint64_t{1} << 29) - 1), last = hn::Set(du, uint64_t{1} << 29), one = hn::Set(du, 1);
  const auto big = hn::Set(d, 0x1p52), edge = hn::Set(d, 0x1p-126);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto x = hn::LoadU(d, s + i);
    const auto u = hn::BitCast(du, x);
    const auto sticky = hn::IfThenZeroElse(hn::Eq(hn::And(u, rest), hn::Zero(du)), last);
    const auto normal = hn::BitCast(d, hn::Or(hn::AndNot(rest, u), sticky));
    const auto size = hn::Abs(x);
    const auto small = hn::Lt(size, edge);
    const auto units = hn::Mul(hn::IfThenElseZero(small, size), hn::Set(d, 0x1p149));
    const auto near = hn::Sub(hn::Add(units, big), big);
    const auto whole = hn::Sub(near, hn::IfThenElseZero(hn::Gt(near, units), hn::Set(d, 1.0)));
    const auto inexact = hn::BitCast(du, hn::IfThenElseZero(hn::Ne(whole, units), hn::BitCast(d, one)));
    const auto odd = hn::BitCast(d, hn::Or(hn::BitCast(du, hn::Add(whole, big)), inexact));
    const auto subnormal = hn::CopySign(hn::Mul(hn::Sub(odd, big), hn::Set(d, 0x1p-149)), x);
    hn::StoreU(hn::DemoteTo(hn::Rebind<float, decltype(d)>(), hn::IfThenElse(small, subnormal, normal)),
               hn::Rebind<float, decltype(d)>(), t + i);
  }
  for (; i < n; ++i) t[i] = round_to_odd(s[i]);
}
template <class T, class F> void to_odd(const void* source, void* target, int64_t n, F f) {
  double tile[256];
  for (int64_t i = 0; i < n; i += 256) {
    const int64_t m = n - i < 256 ? n - i : 256;
    loop<T, double>(static_cast<const T*>(source) + i, tile, m, f);
    to_odd(tile, static_cast<float*>(target) + i, m);
  }
}

template <class T> void from_float(const void* s, Compute to, void* t, int64_t n, bool odd) {
  switch (to) {
    case Compute::f32:
      if (sizeof(T) == 4) return void(__builtin_memcpy(t, s, size_t(n) * 4));
      if (odd) return to_odd(static_cast<const double*>(s), static_cast<float*>(t), n);
      return loop<T, float>(s, t, n, [](T x) { return float(x); });
    case Compute::f64:
      return loop<T, double>(s, t, n, [](T x) { return double(x); });
    case Compute::i32:
      return loop<T, int32_t>(s, t, n, [](T x) { return truncate_i32(x); });
    case Compute::i64:
      return loop<T, int64_t>(s, t, n, [](T x) { return truncate_i64(x); });
  }
}
template <class T> void from_integer(const void* s, Compute to, void* t, int64_t n, bool odd) {
  switch (to) {
    case Compute::f32:
      if (odd && sizeof(T) == 4) return to_odd<T>(s, t, n, [](T x) { return double(x); });
      if (odd) return to_odd<T>(s, t, n, [](T x) { return sticky_double(x); });
      return loop<T, float>(s, t, n, [](T x) { return float(x); });
    case Compute::f64:
      return loop<T, double>(s, t, n, [](T x) { return double(x); });
    case Compute::i32:
      return loop<T, int32_t>(s, t, n, [](T x) { return int32_t(uint32_t(uint64_t(x))); });
    case Compute::i64:
      return loop<T, int64_t>(s, t, n, [](T x) { return int64_t(x); });
  }
}

void run(Compute from, const void* source, Compute to, void* target, int64_t n, bool odd) {
  switch (from) {
    case Compute::f32:
      return from_float<float>(source, to, target, n, odd);
    case Compute::f64:
      return from_float<double>(source, to, target, n, odd);
    case Compute::i32:
      return from_integer<int32_t>(source, to, target, n, odd);
    case Compute::i64:
      return from_integer<int64_t>(source, to, target, n, odd);
  }
}

// Below AVX-512 there is no vector instruction to i64, and values beyond i32 are rare: look for them first.
template <class T> void low32_of(const void* source, int32_t* target, int64_t n) {
  const T* __restrict__ s = static_cast<const T*>(source);
  int outside = 0;
  for (int64_t i = 0; i < n; ++i) outside |= !(s[i] > T(-0x1p31)) | !(s[i] < T(0x1p31));
  if (!outside) return loop<T, int32_t>(source, target, n, [](T x) { return truncate_i32(x); });
  loop<T, int32_t>(source, target, n, [](T x) { return int32_t(uint32_t(truncate_i64(x))); });
}
void low32(Compute from, const void* source, int32_t* target, int64_t n) {
  switch (from) {
    case Compute::f32:
      return low32_of<float>(source, target, n);
    case Compute::f64:
      return low32_of<double>(source, target, n);
    default:
      return run(from, source, Compute::i32, target, n, false);
  }
}

void nonzero(Compute from, const void* source, int32_t* target, int64_t n) {
  switch (from) {
    case Compute::f32:
      return loop<float, int32_t>(source, target, n, [](float x) { return int32_t(x != 0); });
    case Compute::f64:
      return loop<double, int32_t>(source, target, n, [](double x) { return int32_t(x != 0); });
    case Compute::i32:
      return loop<int32_t, int32_t>(source, target, n, [](int32_t x) { return int32_t(x != 0); });
    case Compute::i64:
      return loop<int64_t, int32_t>(source, target, n, [](int64_t x) { return int32_t(x != 0); });
  }
}

}  // namespace

extern constexpr ConvertKernel convert_kernel = {.run = run, .low32 = low32, .nonzero = nonzero};

}  // namespace dyadic::DY_ISA
