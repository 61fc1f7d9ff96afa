// Lane<T>: one integer with the vocabulary of Vec, so that the same generic lambda runs on integer tensors. Plain loops over
// Lanes vectorize. Everything is defined: + - * wrap, shifts by the width or more give what an infinitely long shift would, and
// a division by zero gives 0 (the CPU would trap), the smallest number divided by -1 itself.
#pragma once
#include "base/simd/vec.h"

namespace dyadic::DY_ISA {

struct LaneMask {
  bool m;
  friend DY_INLINE LaneMask operator&(LaneMask a, LaneMask b) { return {bool(a.m & b.m)}; }
  friend DY_INLINE LaneMask operator|(LaneMask a, LaneMask b) { return {bool(a.m | b.m)}; }
  friend DY_INLINE LaneMask operator^(LaneMask a, LaneMask b) { return {bool(a.m ^ b.m)}; }
  friend DY_INLINE LaneMask operator!(LaneMask a) { return {!a.m}; }
  friend DY_INLINE bool any(LaneMask a) { return a.m; }
  friend DY_INLINE bool all(LaneMask a) { return a.m; }
  DY_INLINE void store(uint8_t* p) const { *p = m; }
};

DY_INLINE int trailing_zeros(uint64_t x) {  // x != 0
#if __CUDA_ARCH__
  return __ffsll(int64_t(x)) - 1;
#else
  return __builtin_ctzll(x);
#endif
}

template <class T> struct Lane {
  static_assert(std::is_integral_v<T> && !std::is_same_v<T, bool>);
  using U = std::make_unsigned_t<T>;
  using Wide = std::conditional_t<sizeof(T) < 4, uint32_t, U>;  // narrow unsigned numbers would promote to int and overflow it
  static constexpr bool kSigned = std::is_signed_v<T>;
  static constexpr int kBits = 8 * sizeof(T);
  T v;

  Lane() = default;
  template <Number S> DY_INLINE constexpr Lane(S c) : v(!kSigned && c < S(0) ? T(int64_t(c)) : T(c)) {}

  static constexpr size_t size() { return 1; }
  static DY_INLINE Lane load(const T* p) { return *p; }
  DY_INLINE void store(T* p) const { *p = v; }

  friend DY_INLINE Lane operator+(Lane a, Lane b) { return T(Wide(a.v) + Wide(b.v)); }
  friend DY_INLINE Lane operator-(Lane a, Lane b) { return T(Wide(a.v) - Wide(b.v)); }
  friend DY_INLINE Lane operator*(Lane a, Lane b) { return T(Wide(a.v) * Wide(b.v)); }
  friend DY_INLINE Lane operator-(Lane a) { return T(-Wide(a.v)); }
  friend DY_INLINE Lane operator&(Lane a, Lane b) { return T(a.v & b.v); }
  friend DY_INLINE Lane operator|(Lane a, Lane b) { return T(a.v | b.v); }
  friend DY_INLINE Lane operator^(Lane a, Lane b) { return T(a.v ^ b.v); }
  friend DY_INLINE Lane operator~(Lane a) { return T(~a.v); }
  // A negative count counts as one beyond the width.
  friend DY_INLINE Lane operator<<(Lane a, Lane n) { return U(n.v) >= U(kBits) ? T(0) : T(Wide(a.v) << (n.v & (kBits - 1))); }
  friend DY_INLINE Lane operator>>(Lane a, Lane n) {  // arithmetic for signed types
    return T(a.v >> (U(n.v) >= U(kBits) ? kBits - 1 : n.v)) * (kSigned || U(n.v) < U(kBits));
  }
  DY_INLINE Lane& operator+=(Lane b) { return *this = *this + b; }
  DY_INLINE Lane& operator-=(Lane b) { return *this = *this - b; }
  DY_INLINE Lane& operator*=(Lane b) { return *this = *this * b; }

  friend DY_INLINE LaneMask operator<(Lane a, Lane b) { return {a.v < b.v}; }
  friend DY_INLINE LaneMask operator<=(Lane a, Lane b) { return {a.v <= b.v}; }
  friend DY_INLINE LaneMask operator>(Lane a, Lane b) { return {a.v > b.v}; }
  friend DY_INLINE LaneMask operator>=(Lane a, Lane b) { return {a.v >= b.v}; }
  friend DY_INLINE LaneMask operator==(Lane a, Lane b) { return {a.v == b.v}; }
  friend DY_INLINE LaneMask operator!=(Lane a, Lane b) { return {a.v != b.v}; }

  friend DY_INLINE Lane select(LaneMask m, Lane yes, Lane no) { return m.m ? yes : no; }
  friend DY_INLINE Lane min(Lane a, Lane b) { return a.v < b.v ? a : b; }
  friend DY_INLINE Lane max(Lane a, Lane b) { return a.v > b.v ? a : b; }
  friend DY_INLINE Lane conj(Lane a) { return a; }
  friend DY_INLINE Lane abs(Lane a) { return a.v < 0 ? -a : a; }
  friend DY_INLINE Lane sign(Lane a) { return T((a.v > 0) - (a.v < 0)); }
  friend DY_INLINE LaneMask signbit(Lane a) { return {a.v < 0}; }
  friend DY_INLINE LaneMask isnan(Lane) { return {false}; }
  friend DY_INLINE LaneMask isinf(Lane) { return {false}; }
  friend DY_INLINE LaneMask isfinite(Lane) { return {true}; }
  friend DY_INLINE Lane floor(Lane a) { return a; }
  friend DY_INLINE Lane ceil(Lane a) { return a; }
  friend DY_INLINE Lane trunc(Lane a) { return a; }
  friend DY_INLINE Lane round(Lane a) { return a; }

  // Toward zero, toward minus infinity, and the remainder of the latter (it has the sign of b, as in Python).
  friend DY_INLINE Lane div_trunc(Lane a, Lane b) {
    // By 0, 1 and -1 a division is a product. Chosen by bits: of a conditional the compiler makes a branch around the division.
    const T few = -T(U(U(b.v) + U(kSigned)) <= U(kSigned ? 2 : 1));
    const Lane q = quotient(a, (b & Lane(T(~few))) | Lane(T(2 & few)));
    return (q & Lane(T(~few))) | (a * b & Lane(few));
  }
  friend DY_INLINE Lane div_floor(Lane a, Lane b) {
    const Lane q = div_trunc(a, b), r = a - q * b;
    return q - T((r.v != 0) & ((r.v < 0) != (b.v < 0)) & (b.v != 0));
  }
  friend DY_INLINE Lane remainder(Lane a, Lane b) { return (a - div_floor(a, b) * b) & -Lane(T(b.v != 0)); }
  friend DY_INLINE Lane fmod(Lane a, Lane b) { return (a - div_trunc(a, b) * b) & -Lane(T(b.v != 0)); }
  // By halves and differences (Stein 1967): a division takes as long as five of these steps.
  friend DY_INLINE Lane gcd(Lane a, Lane b) {
    U x = U(abs(a).v), y = U(abs(b).v);
    if (x == 0 || y == 0) return T(x | y);
    const int both = trailing_zeros(x | y);
    x = U(x >> trailing_zeros(x));
    while (y != 0) {
      y = U(y >> trailing_zeros(y));
      const U least = x < y ? x : y;
      y = x < y ? U(y - x) : U(x - y);
      x = least;
    }
    return T(x << both);
  }
  friend DY_INLINE Lane lcm(Lane a, Lane b) {
    const Lane g = gcd(a, b);
    return g.v == 0 ? T(0) : abs(T(U(abs(a).v) / U(g.v)) * b);
  }
  // A negative power is rounded toward zero: 0, but for 1 and -1.
  friend DY_INLINE Lane pow(Lane a, Lane b) {
    if (b.v < 0) return a.v == 1 ? T(1) : T(a.v + 1) == 0 ? T(b.v & 1 ? -1 : 1) : T(0);
    Lane r = T(1);
    for (U e = U(b.v); e; e >>= 1, a *= a)
      if (e & 1) r *= a;
    return r;
  }

 private:
  // a / b toward zero, |b| > 1. The machine divides one pair of integers at a time (26 to 90 cycles), but vectors of doubles:
  // of 32 bits they are exact. Of 64 the rounded quotient q leaves a rest of less than |b| + 2^12, whose own quotient is exact
  // to one; where the last rest has another sign than a or is as large as b, that one is missing.
  static DY_INLINE Lane quotient(Lane a, Lane b) {
    if constexpr (sizeof(T) == 4 && kSigned) {
      return T(double(a.v) / double(b.v));
    } else if constexpr (sizeof(T) == 8 && kSigned && DY_AVX512) {
      Lane q = T(double(a.v) / double(b.v)), r = a - q * b;
      const Lane more = T(double(r.v) / double(b.v));
      q += more, r -= more * b;
      const T step = (a.v < 0) == (b.v < 0) ? T(1) : T(-1);  // of a quotient whose size grows by one
      const bool above = (r.v != 0) & ((r.v < 0) != (a.v < 0));
      const bool below = !above & (U(abs(r).v) >= U(abs(b).v));
      return q + Lane(T(T(T(below) - T(above)) * step));
    } else {
      return T(a.v / b.v);
    }
  }
};

}  // namespace dyadic::DY_ISA
