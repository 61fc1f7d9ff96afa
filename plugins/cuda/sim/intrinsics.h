// CUDA's intrinsics of numbers and bits, those with one exact result. The fast ones (__expf, __fdividef) are left out: what
// they give is the hardware's business.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(unsigned(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return x ? std::countr_zero(unsigned(x)) + 1 : 0; }
inline int __ffsll(long long x) { return x ? std::countr_zero(static_cast<unsigned long long>(x)) + 1 : 0; }
inline unsigned long long __brevll(unsigned long long x) {
  unsigned long long r = 0;
  for (int i = 0; i < 64; ++i) r |= (x >> i & 1) << (63 - i);
  return r;
}
inline unsigned __brev(unsigned x) { return unsigned(__brevll(x) >> 32); }
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned which) {
  const uint64_t bytes = uint64_t(y) << 32 | x;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) r |= unsigned(bytes >> 8 * (which >> 4 * i & 7) & 0xff) << 8 * i;
  return r;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return unsigned(((uint64_t(high) << 32 | low) << (by & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return unsigned((uint64_t(high) << 32 | low) >> (by & 31));
}

inline int __mulhi(int a, int b) { return int(int64_t(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned(uint64_t(a) * b >> 32); }
__extension__ typedef __int128 dy_int128;
__extension__ typedef unsigned __int128 dy_uint128;
inline long long __mul64hi(long long a, long long b) { return static_cast<long long>(dy_int128(a) * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(dy_uint128(a) * b >> 64);
}
inline int __dp4a(int a, int b, int c) {  // four products of bytes
  for (int i = 0; i < 4; ++i) c += int(int8_t(a >> 8 * i)) * int(int8_t(b >> 8 * i));
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) c += (a >> 8 * i & 0xff) * (b >> 8 * i & 0xff);
  return c;
}

inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline int __double2hiint(double x) { return int(std::bit_cast<uint64_t>(x) >> 32); }
inline int __double2loint(double x) { return int(std::bit_cast<uint64_t>(x)); }
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(uint64_t(unsigned(high)) << 32 | unsigned(low));
}

// Each is one rounding, to nearest even: the compiler may not contract them.
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __frcp_rn(float a) { return 1 / a; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }
inline double __drcp_rn(double a) { return 1 / a; }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }

// Conversions to integers: what does not fit becomes the nearest that does; NaN 0, of 64 bits the lowest.
template <class I, class F> inline I dy_to_integer(F x, bool nearest) {
  using Limits = std::numeric_limits<I>;
  if (x != x) return sizeof(I) == 8 ? I(I(1) << 63) : I(0);
  const F whole = nearest ? std::nearbyint(x) : std::trunc(x);
  if (whole < F(Limits::min())) return Limits::min();
  return whole >= std::ldexp(F(1), Limits::digits) ? Limits::max() : I(whole);
}
inline int __float2int_rn(float x) { return dy_to_integer<int>(x, true); }
inline int __float2int_rz(float x) { return dy_to_integer<int>(x, false); }
inline unsigned __float2uint_rn(float x) { return dy_to_integer<unsigned>(x, true); }
inline unsigned __float2uint_rz(float x) { return dy_to_integer<unsigned>(x, false); }
inline long long __float2ll_rn(float x) { return dy_to_integer<long long>(x, true); }
inline long long __float2ll_rz(float x) { return dy_to_integer<long long>(x, false); }
inline int __double2int_rn(double x) { return dy_to_integer<int>(x, true); }
inline int __double2int_rz(double x) { return dy_to_integer<int>(x, false); }
inline long long __double2ll_rn(double x) { return dy_to_integer<long long>(x, true); }
inline long long __double2ll_rz(double x) { return dy_to_integer<long long>(x, false); }
inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }
inline float __ll2float_rn(long long x) { return float(x); }
inline double __ll2double_rn(long long x) { return double(x); }
inline float __double2float_rn(double x) { return float(x); }

// The smaller and the larger of two integers, by CUDA's global names.
#define DY_MINMAX(T)                                  \
  constexpr T min(T a, T b) { return b < a ? b : a; } \
  constexpr T max(T a, T b) { return a < b ? b : a; }
DY_MINMAX(int)
DY_MINMAX(unsigned)
DY_MINMAX(long)
DY_MINMAX(unsigned long)
DY_MINMAX(long long)
DY_MINMAX(unsigned long long)
#undef DY_MINMAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
