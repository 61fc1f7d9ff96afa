// Vec<T>, Mask<T>: one machine vector of float or double and its comparison result, in the instruction set this file is
// compiled for. Arithmetic, comparisons, rounding and reductions live here; exp, erf, sin ... in math.h.
//
// Note [Fused multiply-add]: fma(a, b, c) is one rounding where the instruction set has it (AVX2, AVX-512) and two on SSE4, so
// what relies on it must also be accurate without. Nothing is ever fused behind a source's back (-ffp-contract=off).
#pragma once
#if DY_ISA_reference  // one lane: plain C++, which says what the others must give
#define HWY_COMPILE_ONLY_SCALAR 1
#else
#define HWY_COMPILE_ONLY_STATIC 1
#endif
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#ifndef DY_ISA
#error "base/simd is for files compiled once per instruction set"
#endif
// Functions on vectors are always inlined: a vector never crosses a call, and instruction sets share no symbol. Those on plain
// numbers are not, and say with DY_EVERYWHERE that a GPU's kernels call them too (DY_ISA_cuda: a thread is one lane).
#if __CUDACC__
#define DY_EVERYWHERE __host__ __device__
#define DY_INLINE DY_EVERYWHERE __forceinline__
#else
#define DY_EVERYWHERE
#define DY_INLINE __attribute__((always_inline)) inline
#endif

#if DY_ISA_avx512
#define DY_AVX512 1
static_assert(HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL);
#else
#define DY_AVX512 0
#endif
#if DY_ISA_avx2
static_assert(HWY_TARGET == HWY_AVX2);
#endif
#if DY_ISA_sse4
static_assert(HWY_TARGET == HWY_SSE4);
#endif
#define DY_FMA (HWY_TARGET <= HWY_AVX2)

namespace dyadic::DY_ISA {

#if DY_ISA_reference
namespace hn {
using namespace hwy::HWY_NAMESPACE;
// As the processors' instructions have it, where Highway's one lane has it otherwise: b where either is NaN, or both are equal;
// halves to even, also where adding a half would round; zeros keep their sign.
template <class T> DY_INLINE Vec1<T> Max(Vec1<T> a, Vec1<T> b) { return a.raw > b.raw ? a : b; }
template <class T> DY_INLINE Vec1<T> Min(Vec1<T> a, Vec1<T> b) { return a.raw < b.raw ? a : b; }
#define DY_ONE_LANE(Name, function)                                                                 \
  DY_INLINE Vec1<float> Name(Vec1<float> a) { return Vec1<float>(__builtin_##function##f(a.raw)); } \
  DY_INLINE Vec1<double> Name(Vec1<double> a) { return Vec1<double>(__builtin_##function(a.raw)); }
DY_ONE_LANE(Round, rint)
DY_ONE_LANE(Floor, floor)
DY_ONE_LANE(Ceil, ceil)
DY_ONE_LANE(Trunc, trunc)
#undef DY_ONE_LANE
}  // namespace hn
#else
namespace hn = hwy::HWY_NAMESPACE;
#endif

inline constexpr double kInf = __builtin_huge_val(), kNaN = __builtin_nan("");

template <class S>
concept Number = std::is_arithmetic_v<S>;

template <class T> struct Vec;

// The result of a comparison, one truth value per lane. select(mask, a, b) takes scalars as well as vectors.
template <class T> struct Mask {
  using D = hn::ScalableTag<T>;
  using Raw = hn::Mask<D>;
  Raw m;

  Mask() = default;
  DY_INLINE Mask(Raw raw) : m(raw) {}
  static DY_INLINE Mask first_n(size_t n) { return hn::FirstN(D(), n); }

  friend DY_INLINE Mask operator&(Mask a, Mask b) { return hn::And(a.m, b.m); }
  friend DY_INLINE Mask operator|(Mask a, Mask b) { return hn::Or(a.m, b.m); }
  friend DY_INLINE Mask operator^(Mask a, Mask b) { return hn::Xor(a.m, b.m); }
  friend DY_INLINE Mask operator!(Mask a) { return hn::Not(a.m); }
  friend DY_INLINE Vec<T> select(Mask m, Vec<T> yes, Vec<T> no) { return hn::IfThenElse(m.m, yes.v, no.v); }
  friend DY_INLINE bool any(Mask m) { return !hn::AllFalse(D(), m.m); }
  friend DY_INLINE bool all(Mask m) { return hn::AllTrue(D(), m.m); }
  friend DY_INLINE size_t count(Mask m) { return hn::CountTrue(D(), m.m); }

  DY_INLINE uint32_t bits() const {  // lane i is bit i
    alignas(8) uint8_t bytes[8] = {};
    hn::StoreMaskBits(D(), m, bytes);
    return bytes[0] | uint32_t(bytes[1]) << 8;
  }
  // One byte per lane, 0 or 1.
  DY_INLINE void store(uint8_t* p) const {
    constexpr size_t kLanes = Vec<T>::size();
    uint64_t eight = spread(bits());
    if constexpr (kLanes == 16) {
      uint64_t high = spread(bits() >> 8);
      __builtin_memcpy(p, &eight, 8);
      __builtin_memcpy(p + 8, &high, 8);
    } else {
      __builtin_memcpy(p, &eight, kLanes);
    }
  }
  DY_INLINE void store_n(uint8_t* p, size_t n) const {
    uint32_t b = bits();
    for (size_t i = 0; i < n; i++) p[i] = b >> i & 1;
  }

 private:
  static DY_INLINE uint64_t spread(uint32_t bits) {  // bit i of the lowest eight becomes byte i
    uint64_t one_each = (bits & 0xff) * 0x0101010101010101u & 0x8040201008040201u;
    return (one_each + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
  }
};

template <class T> struct Vec {
  using Element = T;
  using D = hn::ScalableTag<T>;
  using Raw = hn::Vec<D>;
  using M = Mask<T>;
  Raw v;

  static constexpr size_t size() { return hn::MaxLanes(D()); }
  static constexpr D d{};

  Vec() = default;
  DY_INLINE Vec(Raw raw) : v(raw) {}
  template <Number S> DY_INLINE Vec(S c) : v(hn::Set(D(), T(c))) {}

  // No alignment is needed. load_n and store_n touch only the first n < size() elements; the other lanes are zero.
  static DY_INLINE Vec load(const T* p) { return hn::LoadU(d, p); }
  DY_INLINE void store(T* p) const { hn::StoreU(v, d, p); }
  DY_INLINE void stream(T* p) const { hn::Stream(v, d, p); }  // past the caches; p is aligned to the vector
  static DY_INLINE Vec load_n(const T* p, size_t n) {
#if HWY_TARGET <= HWY_AVX2
    return hn::MaskedLoad(hn::FirstN(d, n), d, p);  // masked-off lanes don't fault
#else
    alignas(64) T tmp[size()] = {};
    for (size_t i = 0; i < n; i++) tmp[i] = p[i];
    return hn::Load(d, tmp);
#endif
  }
  DY_INLINE void store_n(T* p, size_t n) const {
#if HWY_TARGET <= HWY_AVX2
    hn::BlendedStore(v, hn::FirstN(d, n), d, p);
#else
    alignas(64) T tmp[size()];
    hn::Store(v, d, tmp);
    for (size_t i = 0; i < n; i++) p[i] = tmp[i];
#endif
  }
  static DY_INLINE Vec iota() { return hn::Iota(d, T(0)); }  // 0, 1, 2 ...

  friend DY_INLINE Vec operator+(Vec a, Vec b) { return hn::Add(a.v, b.v); }
  friend DY_INLINE Vec operator-(Vec a, Vec b) { return hn::Sub(a.v, b.v); }
  friend DY_INLINE Vec operator*(Vec a, Vec b) { return hn::Mul(a.v, b.v); }
  friend DY_INLINE Vec operator/(Vec a, Vec b) { return hn::Div(a.v, b.v); }
  friend DY_INLINE Vec operator-(Vec a) { return hn::Xor(a.v, hn::SignBit(d)); }  // also of zeros and NaN
  DY_INLINE Vec& operator+=(Vec b) { return *this = *this + b; }
  DY_INLINE Vec& operator-=(Vec b) { return *this = *this - b; }
  DY_INLINE Vec& operator*=(Vec b) { return *this = *this * b; }
  DY_INLINE Vec& operator/=(Vec b) { return *this = *this / b; }

  friend DY_INLINE M operator<(Vec a, Vec b) { return hn::Lt(a.v, b.v); }
  friend DY_INLINE M operator<=(Vec a, Vec b) { return hn::Le(a.v, b.v); }
  friend DY_INLINE M operator>(Vec a, Vec b) { return hn::Gt(a.v, b.v); }
  friend DY_INLINE M operator>=(Vec a, Vec b) { return hn::Ge(a.v, b.v); }
  friend DY_INLINE M operator==(Vec a, Vec b) { return hn::Eq(a.v, b.v); }
  // Not Highway's Ne: with AVX2 and AVX-512 that of version 1.0.3 is false for NaN.
  friend DY_INLINE M operator!=(Vec a, Vec b) { return hn::Not(hn::Eq(a.v, b.v)); }

  friend DY_INLINE M isnan(Vec x) { return hn::IsNaN(x.v); }
  friend DY_INLINE M isinf(Vec x) { return hn::Eq(hn::Abs(x.v), hn::Set(d, T(kInf))); }
  friend DY_INLINE M isfinite(Vec x) { return hn::Lt(hn::Abs(x.v), hn::Set(d, T(kInf))); }

  // a * b + c, Note [Fused multiply-add].
  friend DY_INLINE Vec fma(Vec a, Vec b, Vec c) { return hn::MulAdd(a.v, b.v, c.v); }
  friend DY_INLINE Vec fnma(Vec a, Vec b, Vec c) { return hn::NegMulAdd(a.v, b.v, c.v); }  // c - a * b
  friend DY_INLINE Vec conj(Vec x) { return x; }
  friend DY_INLINE Vec abs(Vec x) { return hn::Abs(x.v); }
  // NaN if either is NaN. The machine's min gives the second operand when one is NaN, hence the blend for the first.
  friend DY_INLINE Vec min(Vec a, Vec b) { return hn::IfThenElse(hn::IsNaN(a.v), a.v, hn::Min(a.v, b.v)); }
  friend DY_INLINE Vec max(Vec a, Vec b) { return hn::IfThenElse(hn::IsNaN(a.v), a.v, hn::Max(a.v, b.v)); }
  friend DY_INLINE Vec floor(Vec x) { return hn::Floor(x.v); }
  friend DY_INLINE Vec ceil(Vec x) { return hn::Ceil(x.v); }
  friend DY_INLINE Vec trunc(Vec x) { return hn::Trunc(x.v); }
  friend DY_INLINE Vec round(Vec x) { return hn::Round(x.v); }  // half to even
  friend DY_INLINE Vec sqrt(Vec x) { return hn::Sqrt(x.v); }
  // Two roundings, or to within an ulp from an estimate of 14 bits: root and division both wait for the divider. The estimates
  // of zero, infinity and NaN are the results.
  friend DY_INLINE Vec rsqrt(Vec x) {
#if DY_AVX512
    Vec r, half = T(0.5);
    if constexpr (sizeof(T) == 4) {
      r = Raw{_mm512_rsqrt14_ps(x.v.raw)};
    } else {
      r = Raw{_mm512_rsqrt14_pd(x.v.raw)};
      Vec e = fnma(x * r, r, Vec(1));
      r = select(e == e, fma(r * e, fma(e, Vec(0.375), half), r), r);
    }
    Vec e = fnma(x * r, r, Vec(1));
    return select(e == e, fma(r * e, half, r), r);
#else
    return Vec(1) / sqrt(x);
#endif
  }
  friend DY_INLINE Vec copysign(Vec magnitude, Vec sign) { return hn::CopySign(magnitude.v, sign.v); }
  friend DY_INLINE Vec sign(Vec x) {  // -1, 0 (NaN too) or 1
    return hn::Sub(hn::IfThenElseZero(hn::Gt(x.v, hn::Zero(d)), hn::Set(d, T(1))),
                   hn::IfThenElseZero(hn::Lt(x.v, hn::Zero(d)), hn::Set(d, T(1))));
  }
  friend DY_INLINE M signbit(Vec x) {
    hn::RebindToSigned<D> di;
    return hn::MaskFromVec(hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(di, x.v))));
  }

  // Lanes are combined as a tree of halves: i with i + n/2, and so on. A wider instruction set gives the same bits as a
  // narrower one that first adds its vectors in the same way.
  friend DY_INLINE T reduce_sum(Vec x) { return tree<Sum>(d, x.v); }
  friend DY_INLINE T reduce_max(Vec x) { return tree<Max>(d, x.v); }
  friend DY_INLINE T reduce_min(Vec x) { return tree<Min>(d, x.v); }

 private:
  struct Sum {
    template <class V> static DY_INLINE V combine(V a, V b) { return hn::Add(a, b); }
  };
  struct Max {
    template <class V> static DY_INLINE V combine(V a, V b) { return hn::IfThenElse(hn::IsNaN(a), a, hn::Max(a, b)); }
  };
  struct Min {
    template <class V> static DY_INLINE V combine(V a, V b) { return hn::IfThenElse(hn::IsNaN(a), a, hn::Min(a, b)); }
  };
  template <class Op, class Tag, class V> static DY_INLINE T tree(Tag, V v) {
#if !DY_ISA_reference && !DY_ISA_cuda
    if constexpr (hn::MaxLanes(Tag()) > 1) {
      hn::Half<Tag> half;
      return tree<Op>(half, Op::combine(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    }
#endif
    return hn::GetLane(v);
  }
};

// A float vector as two of double, and back (rounded to nearest).
struct Wide {
  Vec<double> low, high;
};
#if DY_ISA_reference || DY_ISA_cuda
DY_INLINE Wide widen(Vec<float> x) {
  const Vec<double> wide(hn::GetLane(x.v));
  return {wide, wide};
}
DY_INLINE Vec<float> narrow(Vec<double> low, Vec<double>) { return Vec<float>(float(hn::GetLane(low.v))); }
#else
DY_INLINE Wide widen(Vec<float> x) {
  constexpr hn::Half<hn::ScalableTag<float>> half;
  constexpr hn::ScalableTag<double> d;
  return {hn::PromoteTo(d, hn::LowerHalf(half, x.v)), hn::PromoteTo(d, hn::UpperHalf(half, x.v))};
}
DY_INLINE Vec<float> narrow(Vec<double> low, Vec<double> high) {
  constexpr hn::ScalableTag<float> d;
  constexpr hn::Half<hn::ScalableTag<float>> half;
  return hn::Combine(d, hn::DemoteTo(half, high.v), hn::DemoteTo(half, low.v));
}
#endif

}  // namespace dyadic::DY_ISA
