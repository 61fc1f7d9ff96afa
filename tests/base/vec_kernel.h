// Vec, Mask and Lane applied over arrays, once per instruction set.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"

namespace dyadic::inline v1 {

template <class T> struct VecEntry {
  int64_t lanes;
  // One vector of each in, one out.
  void (*minimum)(const T* a, const T* b, T* out);
  void (*maximum)(const T* a, const T* b, T* out);
  void (*copy_sign)(const T* a, const T* b, T* out);
  void (*fused)(const T* a, const T* b, const T* c, T* out);
  void (*negate)(const T* a, T* out);
  void (*with_scalars)(const T* a, T* out);               // select(a > 0.5, 2 * a - 1, 7) / 4, through every kind of literal
  void (*compare)(const T* a, const T* b, uint8_t* six);  // < <= > >= == != as bytes, a vector's worth each
  void (*classify)(const T* a, uint8_t* four);            // isnan isinf isfinite signbit
  void (*logic)(const uint8_t* a, const uint8_t* b, uint8_t* four);  // & | ^ !, then any, all, count of a
  void (*copy_n)(const T* in, T* out, size_t n);
  void (*mask_n)(const T* in, uint8_t* out, size_t n);  // in > 0
  T (*sum)(const T* a);
  T (*largest)(const T* a);
  T (*smallest)(const T* a);
};

template <class T> struct LaneEntry {
  // add sub mul and or xor shl shr min max div_trunc div_floor remainder, then < <= > >= == != select
  void (*binary)(const T* a, const T* b, T* out, int64_t n, int op);
  void (*unary)(const T* a, T* out, int64_t n, int op);  // - ~ abs sign
};

struct VecKernel {
  VecEntry<float> f32;
  VecEntry<double> f64;
  void (*round_trip)(const float* in, float* out);  // widen and narrow, one vector
  LaneEntry<int32_t> i32;
  LaneEntry<int64_t> i64;
  LaneEntry<int8_t> i8;
  LaneEntry<uint8_t> u8;
};

}  // namespace dyadic::inline v1
DY_KERNEL(VecKernel, vec_kernel)
