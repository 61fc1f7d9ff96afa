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

// round_to_odd() of bits.h, lane by lane; vectors with subnormal results, which are rare, one number after the other.
void to_odd(const double* s, float* t, int64_t n) {
  constexpr hn::ScalableTag<double> d{};
  constexpr hn::ScalableTag<uint64_t> du{};
  constexpr hn::Rebind<float, decltype(d)> df{};
  constexpr int64_t lanes = int64_t(hn::MaxLanes(d));
  const auto rest = hn::Set(du, (uint64_t{1} << 29) - 1), last = hn::Set(du, uint64_t{1} << 29);
  const auto edge = hn::Set(d, 0x1p-126), zero = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto x = hn::LoadU(d, s + i);
    if (!hn::AllFalse(d, hn::AndNot(hn::Eq(x, zero), hn::Lt(hn::Abs(x), edge)))) {
      for (int64_t j = i; j < i + lanes; ++j) t[j] = round_to_odd(s[j]);
      continue;
    }
    const auto u = hn::BitCast(du, x);
    const auto sticky = hn::IfThenZeroElse(hn::Eq(hn::And(u, rest), hn::Zero(du)), last);
    hn::StoreU(hn::DemoteTo(df, hn::BitCast(d, hn::Or(hn::AndNot(rest, u), sticky))), df, t + i);
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
    case Compute::u64:
      return loop<T, uint64_t>(s, t, n, [](T x) { return truncate_u64(x); });
    default:
      return loop<T, int64_t>(s, t, n, [](T x) { return truncate_i64(x); });
  }
}
template <class T> void from_integer(const void* s, Compute to, void* t, int64_t n, bool odd) {
  switch (to) {
    case Compute::f32:
      if (odd) {
        return to_odd<T>(s, t, n, [](T x) {
          if constexpr (sizeof(T) == 8) return sticky_double(x);
          return double(x);
        });
      }
      return loop<T, float>(s, t, n, [](T x) { return float(x); });
    case Compute::f64:
      return loop<T, double>(s, t, n, [](T x) { return double(x); });
    case Compute::i32:
      return loop<T, int32_t>(s, t, n, [](T x) { return int32_t(uint32_t(uint64_t(x))); });
    default:  // i64 and u64: the same bits
      return loop<T, int64_t>(s, t, n, [](T x) { return int64_t(x); });
  }
}

void run_real(Compute from, const void* source, Compute to, void* target, int64_t n, bool odd) {
  switch (from) {
    case Compute::f32:
      return from_float<float>(source, to, target, n, odd);
    case Compute::f64:
      return from_float<double>(source, to, target, n, odd);
    case Compute::i32:
      return from_integer<int32_t>(source, to, target, n, odd);
    case Compute::u64:
      return from_integer<uint64_t>(source, to, target, n, odd);
    default:
      return from_integer<int64_t>(source, to, target, n, odd);
  }
}

constexpr int64_t kPiece = 256;  // of complex numbers whose parts are taken apart

template <class T> const T* real_parts(const void* source, int64_t at, int64_t n, T* parts) {
  const T* s = static_cast<const T*>(source) + 2 * at;
  for (int64_t i = 0; i < n; ++i) parts[i] = s[2 * i];
  return parts;
}
const void* real_parts(Compute from, const void* source, int64_t at, int64_t n, double* parts) {
  if (from == Compute::c64) return real_parts(source, at, n, reinterpret_cast<float*>(parts));
  return real_parts(source, at, n, parts);
}
template <class T> void set_parts(void* target, int64_t at, int64_t n, const void* parts) {
  T* t = static_cast<T*>(target) + 2 * at;
  for (int64_t i = 0; i < n; ++i) t[2 * i] = static_cast<const T*>(parts)[i], t[2 * i + 1] = 0;
}

void run(Compute from, const void* source, Compute to, void* target, int64_t n, bool odd) {
  if (is_complex(from) && is_complex(to)) return run_real(real_of(from), source, real_of(to), target, 2 * n, false);
  if (!is_complex(from) && !is_complex(to)) return run_real(from, source, to, target, n, odd);
  alignas(64) double parts[kPiece];
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t m = n - i < kPiece ? n - i : kPiece;
    if (is_complex(from)) {
      run_real(real_of(from), real_parts(from, source, i, m, parts), to, static_cast<char*>(target) + i * compute_size(to), m,
               odd);
    } else {
      run_real(from, static_cast<const char*>(source) + i * compute_size(from), real_of(to), parts, m, odd);
      to == Compute::c64 ? set_parts<float>(target, i, m, parts) : set_parts<double>(target, i, m, parts);
    }
  }
}

// Below AVX-512 there is no vector instruction to i64, and values beyond i32 are rare: look for them first.
template <class T> bool all_in_i32(const T* __restrict__ s, int64_t n) {
  int outside = 0;
  for (int64_t i = 0; i < n; ++i) outside |= !(s[i] > T(-0x1p31)) | !(s[i] < T(0x1p31));
  return !outside;
}
template <class T> void low32_of(const void* source, int32_t* target, int64_t n) {
  if (all_in_i32(static_cast<const T*>(source), n)) return loop<T, int32_t>(source, target, n, [](T x) { return int32_t(x); });
  loop<T, int32_t>(source, target, n, [](T x) { return int32_t(uint32_t(truncate_i64(x))); });
}
void low32(Compute from, const void* source, int32_t* target, int64_t n) {
  if (is_complex(from)) {
    alignas(64) double parts[kPiece];
    for (int64_t i = 0; i < n; i += kPiece) {
      const int64_t m = n - i < kPiece ? n - i : kPiece;
      low32(real_of(from), real_parts(from, source, i, m, parts), target + i, m);
    }
    return;
  }
  switch (from) {
    case Compute::f32:
      return low32_of<float>(source, target, n);
    case Compute::f64:
      return low32_of<double>(source, target, n);
    default:
      return run(from, source, Compute::i32, target, n, false);
  }
}

// Calls f(T{}) with the C++ type of an integer format of 8 or 16 bits.
template <class F> void with_narrow(const FormatDef& d, F f) {
  const bool is_signed = d.kind == Kind::sint;
  if (d.bits == 8) return is_signed ? f(int8_t{}) : f(uint8_t{});
  return is_signed ? f(int16_t{}) : f(uint16_t{});
}
void widen(const FormatDef& from, const void* source, float* target, int64_t n) {
  with_narrow(from, [&](auto t) { loop<decltype(t), float>(source, target, n, [](auto x) { return float(x); }); });
}
void narrow(const float* source, const FormatDef& to, void* target, int64_t n) {
  const bool inside = all_in_i32(source, n);
  with_narrow(to, [&](auto t) {
    using T = decltype(t);
    if (inside) return loop<float, T>(source, target, n, [](float x) { return T(int32_t(x)); });
    loop<float, T>(source, target, n, [](float x) { return T(truncate_i64(x)); });
  });
}

// Integers of 8 to 64 bits to others: the low bits, or the value.
template <class F> void with_integer(const FormatDef& d, F f) {
  if (d.bits < 32) return with_narrow(d, f);
  const bool is_signed = d.kind == Kind::sint;
  if (d.bits == 32) return is_signed ? f(int32_t{}) : f(uint32_t{});
  f(int64_t{});  // to 64 bits and from them signs make no difference
}
void integers(const FormatDef& from, const void* source, const FormatDef& to, void* target, int64_t n) {
  with_integer(from, [&](auto s) {
    with_integer(to, [&](auto t) { loop<decltype(s), decltype(t)>(source, target, n, [](auto x) { return decltype(t)(x); }); });
  });
}

void truth(const FormatDef& from, const void* source, uint8_t* target, int64_t n) {
  const auto run = [&](auto t) { loop<decltype(t), uint8_t>(source, target, n, [](auto x) { return uint8_t(x != 0); }); };
  if (from.bits < 32) return with_narrow(from, run);
  if (from.kind == Kind::floating) return from.bits == 32 ? run(float{}) : run(double{});
  from.bits == 32 ? run(int32_t{}) : run(int64_t{});
}

template <class T> void nonzero_pairs(const void* source, int32_t* target, int64_t n) {
  const T* s = static_cast<const T*>(source);
  for (int64_t i = 0; i < n; ++i) target[i] = (s[2 * i] != 0) | (s[2 * i + 1] != 0);
}
void nonzero(Compute from, const void* source, int32_t* target, int64_t n) {
  switch (from) {
    case Compute::f32:
      return loop<float, int32_t>(source, target, n, [](float x) { return int32_t(x != 0); });
    case Compute::f64:
      return loop<double, int32_t>(source, target, n, [](double x) { return int32_t(x != 0); });
    case Compute::i32:
      return loop<int32_t, int32_t>(source, target, n, [](int32_t x) { return int32_t(x != 0); });
    case Compute::c64:
      return nonzero_pairs<float>(source, target, n);
    case Compute::c128:
      return nonzero_pairs<double>(source, target, n);
    default:
      return loop<int64_t, int32_t>(source, target, n, [](int64_t x) { return int32_t(x != 0); });
  }
}

}  // namespace

extern constexpr ConvertKernel convert_kernel = {
    .run = run, .low32 = low32, .widen = widen, .narrow = narrow, .integers = integers, .truth = truth, .nonzero = nonzero};

}  // namespace dyadic::DY_ISA
