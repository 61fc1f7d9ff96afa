// Conversions that clamp, as formats/saturate.cpp does.
#pragma once
#include "plugins/cuda/elements.h"

namespace dyadic::gpu {

// Floats within their largest number, integers within their range, NaN 0.
template <class T> __device__ __forceinline__ T clamped(T x, double max) {
  if constexpr (is_parts<T>) {
    return {clamped(x.re, max), clamped(x.im, max)};
  } else {
    if (std::is_same_v<T, float> && max > 0x1.fffffep127) max = 0x1.fffffep127;
    if (std::is_integral_v<T> && max >= (sizeof(T) == 4 ? 0x1p31 : std::is_signed_v<T> ? 0x1p63 : 0x1p64)) return x;
    const T high = T(max);
    if constexpr (std::is_unsigned_v<T>)
      return x > high ? high : x;
    else
      return x > high ? high : x < T(-high) ? T(-high) : x;
  }
}
template <class S, class T> __device__ __forceinline__ S within(T x) {  // S: an integer, or bool
  constexpr bool is_signed = std::is_signed_v<S>;
  constexpr int bits = std::is_same_v<S, bool> ? 1 : int(8 * sizeof(S));
  constexpr uint64_t high = ~uint64_t{0} >> (64 - bits + (is_signed ? 1 : 0));
  constexpr int64_t low = is_signed ? -int64_t(high) - 1 : 0;
  if constexpr (is_parts<T>) {
    return within<S>(x.re);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (x != x) return S(0);
    if (x >= T(high)) return S(high);
    if (x <= T(low)) return S(low);
    if constexpr (bits == 64 && !is_signed)
      return truncate_u64(double(x));
    else
      return S(int64_t(x));
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return S(x > high ? high : x);
  } else {
    const auto v = int64_t(x);
    return v < low ? S(low) : v > 0 && uint64_t(v) > high ? S(high) : S(v);
  }
}
template <class E, class V> __device__ __forceinline__ typename E::Stored saturated(V x, double max, Rounder r) {
  using S = typename E::Stored;
  if constexpr (is_narrow<E> || std::is_floating_point_v<S> || is_parts<S>) {
    r.overflow = Overflow::standard;
    return rounded<E>(clamped(x, max), r);
  } else if constexpr (std::is_same_v<E, ElementOf<Code::boolean>>) {
    return within<bool>(x);
  } else {
    return within<S>(x);
  }
}
// As it says; max: of the format.
template <class E, class V> __device__ __forceinline__ typename E::Stored rounded_within(V x, double max, const Rounder& r) {
  return r.overflow == Overflow::saturate ? saturated<E>(x, max, r) : rounded<E>(x, r);
}

}  // namespace dyadic::gpu
