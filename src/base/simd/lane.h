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
    if (b.v == 0) return T(0);
    if (kSigned && b.v == T(-1)) return -a;
    return T(a.v / b.v);
  }
  friend DY_INLINE Lane div_floor(Lane a, Lane b) {
    Lane q = div_trunc(a, b), r = a - q * b;
    return T((r.v != 0) & ((r.v < 0) != (b.v < 0)) & (b.v != 0)) == 0 ? q : q - 1;
  }
  friend DY_INLINE Lane remainder(Lane a, Lane b) {
    if (b.v == 0) return T(0);
    return a - div_floor(a, b) * b;
  }
  friend DY_INLINE Lane fmod(Lane a, Lane b) { return b.v == 0 ? T(0) : a - div_trunc(a, b) * b; }
  friend DY_INLINE Lane gcd(Lane a, Lane b) {
    for (a = abs(a), b = abs(b); b.v != 0;) {
      const U r = U(a.v) % U(b.v);
      a = b, b = T(r);
    }
    return a;
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
};

}  // namespace dyadic::DY_ISA
