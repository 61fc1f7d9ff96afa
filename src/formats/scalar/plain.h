// Loops shared by the scalar formats whose codes convert by a C++ cast; each instruction set has its own.
#pragma once
#include "formats/bits.h"
#include "formats/format.h"

namespace dyadic::DY_ISA {

// A format that is its own compute type.
template <class T> void copy_decode(const void* stored, void* computed, int64_t n) {
  __builtin_memcpy(computed, stored, size_t(n) * sizeof(T));
}
template <class T> void copy_encode(const void* computed, void* stored, int64_t n, const Round&) {
  __builtin_memcpy(stored, computed, size_t(n) * sizeof(T));
}

// Narrow integers compute in i32, u32 in i64; encoding keeps the low bits.
template <class T, class C> void integer_decode(const void* stored, void* computed, int64_t n) {
  const T* __restrict__ s = static_cast<const T*>(stored);
  C* __restrict__ c = static_cast<C*>(computed);
  for (int64_t i = 0; i < n; ++i) c[i] = s[i];
}
template <class T, class C> void integer_encode(const void* computed, void* stored, int64_t n, const Round&) {
  const C* __restrict__ c = static_cast<const C*>(computed);
  T* __restrict__ s = static_cast<T*>(stored);
  for (int64_t i = 0; i < n; ++i) s[i] = T(c[i]);
}
template <class T> double integer_decode1(const Format&, uint64_t code) { return double(T(code)); }
template <class T> uint64_t integer_encode1(const Format&, double value) {
  return (sizeof(T) == 8 && T(-1) > T(0) ? truncate_u64(value) : uint64_t(T(truncate_i64(value)))) &
         (~uint64_t{0} >> (64 - 8 * sizeof(T)));
}

template <class T>
constexpr FormatDef integer_format(const char* name, const char* long_name, const char* doc, Kind kind, double max) {
  FormatDef d{
      .name = name, .long_name = long_name, .doc = doc, .kind = kind, .compute = Compute::i32, .bits = int(8 * sizeof(T))};
  d.max = max;
  if constexpr (T(-1) > T(0) && sizeof(T) == 4) {
    d.compute = Compute::i64;
    d.decode = integer_decode<T, int64_t>;
    d.encode = integer_encode<T, int64_t>;
  } else if constexpr (sizeof(T) >= 4) {
    if constexpr (sizeof(T) == 8) d.compute = T(-1) > T(0) ? Compute::u64 : Compute::i64;
    d.decode = copy_decode<T>;
    d.encode = copy_encode<T>;
  } else {
    d.decode = integer_decode<T, int32_t>;
    d.encode = integer_encode<T, int32_t>;
  }
  d.decode1 = integer_decode1<T>;
  d.encode1 = integer_encode1<T>;
  return d;
}

}  // namespace dyadic::DY_ISA
