// The codebook of the dynamic 8-bit code (dynamic8.h), its tables, and one element's code, in plain C++.
#pragma once
#include <initializer_list>

#include "formats/bits.h"

namespace dyadic::DY_ISA {

struct DynamicTables {
  float value[256];  // by code
  // Decoding, by (class of m) & 7: value = (9 (2m + 1) - q) / d; 1/d as a sum of two f32.
  float q[16], inverse_high[16], inverse_low[16];
  // Encoding, by decade: the lowest y of the *next* decade (the midpoint between their neighbours), and floor(y a + b) <= top,
  // which is m (unsigned: m - 1, the code).
  float next[16], a[16], b[16], top[16];
  int32_t decade[32];  // where an octave begins, by its exponent modulo 32: 2^-31 .. 1
};
inline constexpr int kLowestOctave = 96;  // the exponent of 2^-31, biased

constexpr double power10(int n) { return n <= 0 ? 1.0 : 10.0 * power10(n - 1); }
constexpr float above(double x) { return double(float(x)) < x ? bits_float(float_bits(float(x)) + 1) : float(x); }
constexpr float below(float x) { return bits_float(float_bits(x) - 1); }

template <bool kSigned> constexpr DynamicTables make_dynamic_tables() {
  constexpr int kFirst = kSigned ? 0 : 1;  // the m of code 0
  DynamicTables t{};
  double d[8] = {};
  for (int i = 0; i < 7; ++i) {
    const int n = kSigned ? 1 << i : 2 << i;
    d[i] = 20.0 * n * power10(6 - i);
    for (int j = 0; j < n; ++j) {
      const float v = float((2 * n + 18 * j + 9) / d[i]);
      t.value[kSigned ? 127 + n + j : n + j - 1] = v;
      if (kSigned) t.value[127 - n - j] = -v;
    }
    t.next[i] = above(i < 6 ? (1 + 1.8 / (2 * n)) / power10(6 - i) : 1 - 0.225 / n);
    t.a[i] = float(n * power10(6 - i) / 0.9);
    t.b[i] = float(n * 8.0 / 9.0 - kFirst);
    t.top[i] = below(float(2 * n)) - kFirst;
  }
  t.value[255] = 1;
  t.value[kSigned ? 127 : 0] = 0;
  // The first decade also holds zero: one line through its midpoints.
  t.a[0] = kSigned ? float(1 / 2.75e-7) : float(1 / 3.875e-7);
  t.b[0] = kSigned ? 0.0f : float(2 - 5.5e-7 / 3.875e-7);
  t.next[7] = bits_float(kInfBits);
  t.a[7] = 0;
  t.b[7] = t.top[7] = kSigned ? 128 : 255;
  // Class of m: the exponent of 2m + 1, biased, and-ed with 7. Zero and the top share class 7 (unsigned: 0): one line holds
  // both.
  for (int i = 0; i < 8; ++i) {
    const int n = kSigned ? 1 << i : 2 << i;
    const int at = (kSigned ? i : i + 1) & 7;
    t.q[at] = float(i < 7 ? 16 * n : kSigned ? 9 : 27);
    const double inverse = 1 / (i < 7 ? d[i] : kSigned ? 9.0 * 257 - 9 : 9.0 * 513 - 27);
    t.inverse_high[at] = float(inverse);
    t.inverse_low[at] = float(inverse - double(float(inverse)));
  }
  for (int e = 0; e < 32; ++e)
    while (t.decade[e] < 7 && t.next[t.decade[e]] <= bits_float(uint32_t(kLowestOctave + e) << 23)) ++t.decade[e];
  for (int i = 0; i < 8; ++i)
    for (float* p : {t.q, t.inverse_high, t.inverse_low, t.next, t.a, t.b, t.top}) p[i + 8] = p[i];
  return t;
}
template <bool kSigned> inline constexpr DynamicTables kDynamicTables = make_dynamic_tables<kSigned>();

// The code nearest to a value of [-1, 1], without SIMD: encode_packed for one element.
template <bool kSigned> constexpr uint8_t dynamic_code(float x, const DynamicTables& t = kDynamicTables<kSigned>) {
  const float y = x < 0 ? (kSigned ? -x : 0.0f) : x;
  int decade = 0;
  while (decade < 7 && y >= t.next[decade]) ++decade;
  const float product = y * t.a[decade];
  const float line = product + t.b[decade];
  const int m = int(line < t.top[decade] ? line : t.top[decade]);
  if (!kSigned) return uint8_t(m);
  return uint8_t(x < 0 ? (m > 127 ? 0 : 127 - m) : 127 + m);
}

}  // namespace dyadic::DY_ISA
