// Highway's names for one lane, so that base/simd becomes functions of a GPU's thread: what its vectors do to each lane, with
// AVX2's results where Highway leaves a choice.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "plugins/cuda/language.h"

#define HWY_TARGET 1
#define HWY_AVX2 2  // larger targets have less
#define HWY_NATIVE_FMA 1
#define HWY_NAMESPACE one_lane

namespace hwy::one_lane {

template <class T> struct ScalableTag {
  using Element = T;
};
template <class T> struct One {
  T raw;
};
template <class T> struct Truth {
  bool raw;
};
template <class D> using TFromD = typename D::Element;
template <class D> using Vec = One<TFromD<D>>;
template <class D> using Mask = Truth<TFromD<D>>;

template <size_t kBytes> struct Sized;
template <> struct Sized<4> {
  using Unsigned = uint32_t;
  using Signed = int32_t;
};
template <> struct Sized<8> {
  using Unsigned = uint64_t;
  using Signed = int64_t;
};
template <class T> using Unsigned = typename Sized<sizeof(T)>::Unsigned;
template <class D> using RebindToUnsigned = ScalableTag<Unsigned<TFromD<D>>>;
template <class D> using RebindToSigned = ScalableTag<typename Sized<sizeof(TFromD<D>)>::Signed>;
template <class D> DY_DEVICE constexpr size_t MaxLanes(D) { return 1; }

template <class D, class S> DY_DEVICE Vec<D> Set(D, S c) { return {TFromD<D>(c)}; }
template <class D> DY_DEVICE Vec<D> Zero(D) { return {0}; }
template <class D, class S> DY_DEVICE Vec<D> Iota(D, S c) { return {TFromD<D>(c)}; }
template <class D, class T> DY_DEVICE Vec<D> LoadU(D, const T* p) { return {*p}; }
template <class D, class T> DY_DEVICE Vec<D> MaskedLoad(Mask<D> m, D, const T* p) { return {m.raw ? *p : T(0)}; }
template <class D, class T> DY_DEVICE void StoreU(One<T> v, D, T* p) { *p = v.raw; }
template <class D, class T> DY_DEVICE void Stream(One<T> v, D, T* p) { *p = v.raw; }
template <class D, class T> DY_DEVICE void BlendedStore(One<T> v, Mask<D> m, D, T* p) {
  if (m.raw) *p = v.raw;
}
template <class T> DY_DEVICE T GetLane(One<T> v) { return v.raw; }

template <class T> DY_DEVICE One<T> Add(One<T> a, One<T> b) { return {a.raw + b.raw}; }
template <class T> DY_DEVICE One<T> Sub(One<T> a, One<T> b) { return {a.raw - b.raw}; }
template <class T> DY_DEVICE One<T> Mul(One<T> a, One<T> b) { return {a.raw * b.raw}; }
template <class T> DY_DEVICE One<T> Div(One<T> a, One<T> b) { return {a.raw / b.raw}; }
// 1 / a where both are normal numbers, rounded as the quotient is, without what that asks of other numbers.
DY_DEVICE One<float> ReciprocalOfNormal(One<float> a) {
#if __CUDA_ARCH__
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a.raw));
  return {__builtin_fmaf(-__builtin_fmaf(a.raw, r, -1.f), r, r)};
#else
  return {1 / a.raw};
#endif
}
DY_DEVICE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DY_DEVICE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
template <class T> DY_DEVICE One<T> MulAdd(One<T> a, One<T> b, One<T> c) { return {fused(a.raw, b.raw, c.raw)}; }
template <class T> DY_DEVICE One<T> MulSub(One<T> a, One<T> b, One<T> c) { return {fused(a.raw, b.raw, -c.raw)}; }
template <class T> DY_DEVICE One<T> NegMulAdd(One<T> a, One<T> b, One<T> c) { return {fused(-a.raw, b.raw, c.raw)}; }
// The second where either is NaN, and of zeros.
template <class T> DY_DEVICE One<T> Min(One<T> a, One<T> b) { return {a.raw < b.raw ? a.raw : b.raw}; }
template <class T> DY_DEVICE One<T> Max(One<T> a, One<T> b) { return {a.raw > b.raw ? a.raw : b.raw}; }

template <class To, class T> DY_DEVICE To cast_bits(T x) {
  static_assert(sizeof(To) == sizeof(T));
  return __builtin_bit_cast(To, x);
}
template <class D, class T> DY_DEVICE Vec<D> BitCast(D, One<T> x) { return {cast_bits<TFromD<D>>(x.raw)}; }
template <class T> DY_DEVICE Unsigned<T> bits_of(One<T> x) { return cast_bits<Unsigned<T>>(x.raw); }
template <class T> DY_DEVICE One<T> And(One<T> a, One<T> b) { return {cast_bits<T>(bits_of(a) & bits_of(b))}; }
template <class T> DY_DEVICE One<T> Or(One<T> a, One<T> b) { return {cast_bits<T>(bits_of(a) | bits_of(b))}; }
template <class T> DY_DEVICE One<T> Xor(One<T> a, One<T> b) { return {cast_bits<T>(bits_of(a) ^ bits_of(b))}; }
template <class T> DY_DEVICE One<T> AndNot(One<T> a, One<T> b) { return {cast_bits<T>(~bits_of(a) & bits_of(b))}; }
template <int n, class T> DY_DEVICE One<T> ShiftLeft(One<T> a) { return {T(a.raw << n)}; }
template <int n, class T> DY_DEVICE One<T> ShiftRight(One<T> a) { return {T(a.raw >> n)}; }
template <class T> struct Sign : One<T> {};
template <class D> DY_DEVICE Sign<TFromD<D>> SignBit(D) {
  using T = TFromD<D>;
  return {{cast_bits<T>(Unsigned<T>(1) << (8 * sizeof(T) - 1))}};
}
template <class T> DY_DEVICE One<T> Xor(One<T> a, Sign<T>) { return {-a.raw}; }  // which the card does on the way
template <class T> DY_DEVICE One<T> CopySign(One<T> a, One<T> b) {
  const One<T> sign = SignBit(ScalableTag<T>());
  return Or(AndNot(sign, a), And(sign, b));
}
template <class T> DY_DEVICE One<T> BroadcastSignBit(One<T> a) { return {T(a.raw >> (8 * sizeof(T) - 1))}; }
#define DY_ONE_LANE(Name, function)                                                    \
  DY_DEVICE One<float> Name(One<float> a) { return {__builtin_##function##f(a.raw)}; } \
  DY_DEVICE One<double> Name(One<double> a) { return {__builtin_##function(a.raw)}; }
DY_ONE_LANE(Floor, floor)
DY_ONE_LANE(Ceil, ceil)
DY_ONE_LANE(Trunc, trunc)
DY_ONE_LANE(Round, rint)
DY_ONE_LANE(Sqrt, sqrt)
DY_ONE_LANE(Abs, fabs)
#undef DY_ONE_LANE
// (As processors differ in it too, only what needs no more than its 12 bits may ask.)
DY_DEVICE One<float> ApproximateReciprocalSqrt(One<float> a) { return {1 / __builtin_sqrtf(a.raw)}; }
template <class D, class T> DY_DEVICE Vec<D> PromoteTo(D, One<T> a) { return {TFromD<D>(a.raw)}; }
template <class D, class T> DY_DEVICE Vec<D> DemoteTo(D, One<T> a) { return {TFromD<D>(a.raw)}; }

template <class T> DY_DEVICE Truth<T> Lt(One<T> a, One<T> b) { return {a.raw < b.raw}; }
template <class T> DY_DEVICE Truth<T> Le(One<T> a, One<T> b) { return {a.raw <= b.raw}; }
template <class T> DY_DEVICE Truth<T> Gt(One<T> a, One<T> b) { return {a.raw > b.raw}; }
template <class T> DY_DEVICE Truth<T> Ge(One<T> a, One<T> b) { return {a.raw >= b.raw}; }
template <class T> DY_DEVICE Truth<T> Eq(One<T> a, One<T> b) { return {a.raw == b.raw}; }
template <class T> DY_DEVICE Truth<T> IsNaN(One<T> a) { return {a.raw != a.raw}; }
template <class T> DY_DEVICE Truth<T> Not(Truth<T> a) { return {!a.raw}; }
template <class T> DY_DEVICE Truth<T> And(Truth<T> a, Truth<T> b) { return {bool(a.raw & b.raw)}; }
template <class T> DY_DEVICE Truth<T> Or(Truth<T> a, Truth<T> b) { return {bool(a.raw | b.raw)}; }
template <class T> DY_DEVICE Truth<T> Xor(Truth<T> a, Truth<T> b) { return {a.raw != b.raw}; }
template <class T> DY_DEVICE One<T> IfThenElse(Truth<T> m, One<T> yes, One<T> no) { return m.raw ? yes : no; }
template <class T> DY_DEVICE One<T> IfThenElseZero(Truth<T> m, One<T> yes) { return m.raw ? yes : One<T>{0}; }
template <class T> DY_DEVICE Truth<T> TestBit(One<T> a, One<T> bit) { return {(a.raw & bit.raw) != 0}; }
template <class T> DY_DEVICE Truth<T> MaskFromVec(One<T> a) { return {(bits_of(a) >> (8 * sizeof(T) - 1)) != 0}; }
template <class D, class T> DY_DEVICE Mask<D> RebindMask(D, Truth<T> m) { return {m.raw}; }
template <class D> DY_DEVICE Mask<D> FirstN(D, size_t n) { return {n > 0}; }
template <class D, class T> DY_DEVICE bool AllTrue(D, Truth<T> m) { return m.raw; }
template <class D, class T> DY_DEVICE bool AllFalse(D, Truth<T> m) { return !m.raw; }
template <class D, class T> DY_DEVICE size_t CountTrue(D, Truth<T> m) { return m.raw; }
template <class D, class T> DY_DEVICE void StoreMaskBits(D, Truth<T> m, uint8_t* p) { *p = m.raw; }

}  // namespace hwy::one_lane
