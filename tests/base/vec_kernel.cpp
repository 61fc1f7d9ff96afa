#include "tests/base/vec_kernel.h"

#include "base/simd/simd.h"

namespace dyadic::DY_ISA {

namespace {

template <class T> Mask<T> mask_of(const uint8_t* bytes) {
  T tmp[Vec<T>::size()];
  for (size_t i = 0; i < Vec<T>::size(); i++) tmp[i] = T(bytes[i]);
  return Vec<T>::load(tmp) != 0;
}

template <class T> constexpr VecEntry<T> vec_entry() {
  using V = Vec<T>;
  constexpr size_t n = V::size();
  VecEntry<T> e{};
  e.lanes = n;
  e.minimum = [](const T* a, const T* b, T* out) { min(V::load(a), V::load(b)).store(out); };
  e.maximum = [](const T* a, const T* b, T* out) { max(V::load(a), V::load(b)).store(out); };
  e.copy_sign = [](const T* a, const T* b, T* out) { copysign(V::load(a), V::load(b)).store(out); };
  e.fused = [](const T* a, const T* b, const T* c, T* out) { fma(V::load(a), V::load(b), V::load(c)).store(out); };
  e.negate = [](const T* a, T* out) { (-V::load(a)).store(out); };
  e.with_scalars = [](const T* a, T* out) {
    V x = V::load(a);
    V y = select(x > 0.5, 2 * x - 1.0f, 7);
    y /= 2.0;
    y *= 0.5f;
    y += 1;
    y -= 1u;
    y.store(out);
  };
  e.compare = [](const T* a, const T* b, uint8_t* out) {
    V x = V::load(a), y = V::load(b);
    (x < y).store(out);
    (x <= y).store(out + n);
    (x > y).store(out + 2 * n);
    (x >= y).store(out + 3 * n);
    (x == y).store(out + 4 * n);
    (x != y).store(out + 5 * n);
  };
  e.classify = [](const T* a, uint8_t* out) {
    V x = V::load(a);
    isnan(x).store(out);
    isinf(x).store(out + n);
    isfinite(x).store(out + 2 * n);
    signbit(x).store(out + 3 * n);
  };
  e.logic = [](const uint8_t* a, const uint8_t* b, uint8_t* out) {
    Mask<T> x = mask_of<T>(a), y = mask_of<T>(b);
    (x & y).store(out);
    (x | y).store(out + n);
    (x ^ y).store(out + 2 * n);
    (!x).store(out + 3 * n);
    out[4 * n] = any(x);
    out[4 * n + 1] = all(x);
    out[4 * n + 2] = uint8_t(count(x));
  };
  e.copy_n = [](const T* in, T* out, size_t count) { V::load_n(in, count).store_n(out, count); };
  e.mask_n = [](const T* in, uint8_t* out, size_t count) { (V::load_n(in, count) > 0).store_n(out, count); };
  e.sum = [](const T* a) { return reduce_sum(V::load(a)); };
  e.largest = [](const T* a) { return reduce_max(V::load(a)); };
  e.smallest = [](const T* a) { return reduce_min(V::load(a)); };
  return e;
}

template <class T, class F> DY_INLINE void each(const T* a, const T* b, T* out, int64_t n, F f) {
  for (int64_t i = 0; i < n; i++) out[i] = f(Lane<T>(a[i]), Lane<T>(b[i])).v;
}
template <class T> void lane_binary(const T* a, const T* b, T* out, int64_t n, int op) {
  using L = Lane<T>;
  switch (op) {
    case 0:
      return each(a, b, out, n, [](L x, L y) { return x + y; });
    case 1:
      return each(a, b, out, n, [](L x, L y) { return x - y; });
    case 2:
      return each(a, b, out, n, [](L x, L y) { return x * y; });
    case 3:
      return each(a, b, out, n, [](L x, L y) { return x & y; });
    case 4:
      return each(a, b, out, n, [](L x, L y) { return x | y; });
    case 5:
      return each(a, b, out, n, [](L x, L y) { return x ^ y; });
    case 6:
      return each(a, b, out, n, [](L x, L y) { return x << y; });
    case 7:
      return each(a, b, out, n, [](L x, L y) { return x >> y; });
    case 8:
      return each(a, b, out, n, [](L x, L y) { return min(x, y); });
    case 9:
      return each(a, b, out, n, [](L x, L y) { return max(x, y); });
    case 10:
      return each(a, b, out, n, [](L x, L y) { return div_trunc(x, y); });
    case 11:
      return each(a, b, out, n, [](L x, L y) { return div_floor(x, y); });
    case 12:
      return each(a, b, out, n, [](L x, L y) { return remainder(x, y); });
    case 13:
      return each(a, b, out, n, [](L x, L y) { return select(x < y, L(1), L(0)); });
    case 14:
      return each(a, b, out, n, [](L x, L y) { return select(x <= y, L(1), L(0)); });
    case 15:
      return each(a, b, out, n, [](L x, L y) { return select(x > y, L(1), L(0)); });
    case 16:
      return each(a, b, out, n, [](L x, L y) { return select(x >= y, L(1), L(0)); });
    case 17:
      return each(a, b, out, n, [](L x, L y) { return select(x == y, L(1), L(0)); });
    default:
      return each(a, b, out, n, [](L x, L y) { return select((x != y) & !(x > 5) & ((y < 5) | (y > 9)), x, 2 * y); });
  }
}
template <class T> void lane_unary(const T* a, T* out, int64_t n, int op) {
  using L = Lane<T>;
  switch (op) {
    case 0:
      return each(a, a, out, n, [](L x, L) { return -x; });
    case 1:
      return each(a, a, out, n, [](L x, L) { return ~x; });
    case 2:
      return each(a, a, out, n, [](L x, L) { return abs(x); });
    default:
      return each(a, a, out, n, [](L x, L) { return sign(x); });
  }
}
template <class T> constexpr LaneEntry<T> lane_entry() { return {lane_binary<T>, lane_unary<T>}; }

void round_trip(const float* in, float* out) {
  Wide w = widen(Vec<float>::load(in));
  narrow(w.low, w.high).store(out);
}

}  // namespace

extern const VecKernel vec_kernel = {vec_entry<float>(),    vec_entry<double>(),  round_trip,           lane_entry<int32_t>(),
                                     lane_entry<int64_t>(), lane_entry<int8_t>(), lane_entry<uint8_t>()};

}  // namespace dyadic::DY_ISA
