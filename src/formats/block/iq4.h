// iq4_nl and iq4_xs: 4-bit codes of 16 unevenly spaced values (kvalues_iq4nl of ggml), one scale per 32 elements. The nearest
// value is ggml's best_index_int8: x - a < b - x, both differences rounded, decides between neighbours a and b.
#pragma once
#include "formats/block/ggml_nibbles.h"
#include "formats/block/super.h"

namespace dyadic::DY_ISA {

inline constexpr int8_t kIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// at[i]: the smallest f32 that is not nearer to value i than to value i + 1. Around the midpoint, so found by trying the
// numbers near it: the rounded differences rise and fall with x.
struct Iq4Limits {
  float at[15];
};
constexpr Iq4Limits make_iq4_limits() {
  Iq4Limits t{};
  for (int i = 0; i < 15; ++i) {
    const float a = kIq4[i], b = kIq4[i + 1];
    auto below = [&](float x) { return x - a < b - x; };
    float x = a + (b - a) / 4;
    for (float step = 16; step > 0x1p-30f; step /= 2)
      if (below(x + step)) x += step;
    t.at[i] = x;  // the largest that is nearer to a, but for the last place
    for (int k = 0; k < 64 && below(t.at[i]); ++k)
      t.at[i] = bits_float(t.at[i] < 0 ? float_bits(t.at[i]) - 1 : float_bits(t.at[i]) + 1);
  }
  return t;
}
inline constexpr Iq4Limits kIq4Limits = make_iq4_limits();

// The value and the code nearest to x; NaN counts as large, as there.
inline VF iq4_value(VF x) {
  VF v = hn::Set(kF32, float(kIq4[0]));
  for (int i = 0; i < 15; ++i) {
    const VF next = hn::Set(kF32, float(kIq4[i + 1] - kIq4[i]));
    v = hn::Add(v, hn::IfThenZeroElse(hn::Lt(x, hn::Set(kF32, kIq4Limits.at[i])), next));
  }
  return v;
}
inline VI iq4_code(VF x) {
  VI code = hn::Set(kI32, 15);
  for (int i = 0; i < 15; ++i)
    code = hn::Add(code, hn::VecFromMask(kI32, hn::RebindMask(kI32, hn::Lt(x, hn::Set(kF32, kIq4Limits.at[i])))));
  return code;
}
inline void iq4_codes(const float* x, float inverse, uint8_t* codes) {
  const VF by = hn::Set(kF32, inverse);
  for (int64_t i = 0; i < kGgmlBlock; i += kLanes) store_bytes(iq4_code(hn::Mul(by, hn::LoadU(kF32, x + i))), codes + i);
}
inline void iq4_decode(const uint8_t* packed, float scale, float* out) {
  int8_t values[kGgmlBlock];
  look_up_halves(packed, kIq4, values);
  scale_codes(values, kGgmlBlock, scale, out);
}

struct Iq4Sums {
  VF qx, q2;
};
inline Iq4Sums iq4_correlate(const Column& x, VF inverse) {
  Iq4Sums s{hn::Zero(kF32), hn::Zero(kF32)};
  for (int i = 0; i < kGgmlBlock; ++i) {
    const VF v = x[i], q = iq4_value(hn::Mul(inverse, v)), wq = hn::Mul(hn::Mul(v, v), q);
    s.qx = hn::Add(s.qx, hn::Mul(wq, v));
    s.q2 = hn::Add(s.q2, hn::Mul(wq, q));
  }
  return s;
}

// Scales of `count` <= kLanes blocks of 32. tries < 0: m (the element of largest magnitude) starts as -127; else as 127, and
// the inverse scales (k - 127) / m, |k| <= tries, are tried too. first: the inverse that the search starts with, 0 for a block
// that counts as zero.
inline void iq4_scales(const float* in, int64_t count, int tries, float* scale_out, float* first_out) {
  const VF zero = hn::Zero(kF32), lowest = hn::Set(kF32, float(kIq4[0]));
  Column x;
  load_column(in, kGgmlBlock, count, x);
  const Largest m = largest(x, kGgmlBlock);
  const auto nothing = hn::Lt(m.size, hn::Set(kF32, kNothing));
  const VF first = hn::Div(hn::Set(kF32, 1.0f), hn::Div(tries > 0 ? hn::Neg(m.value) : m.value, lowest));
  Iq4Sums s = iq4_correlate(x, first);
  VF d = hn::IfThenElse(hn::Gt(s.q2, zero), hn::Div(s.qx, s.q2), zero), best = hn::Mul(d, s.qx);
  for (int k = -tries; k <= tries; ++k) {
    s = iq4_correlate(x, hn::Div(hn::Set(kF32, float(k + kIq4[0])), m.value));
    const auto better = hn::And(hn::Gt(s.q2, zero), hn::Gt(hn::Mul(s.qx, s.qx), hn::Mul(best, s.q2)));
    d = hn::IfThenElse(better, hn::Div(s.qx, s.q2), d);
    best = hn::IfThenElse(better, hn::Mul(d, s.qx), best);
  }
  hn::StoreU(hn::IfThenZeroElse(nothing, d), kF32, scale_out);
  hn::StoreU(hn::IfThenZeroElse(nothing, first), kF32, first_out);
}

}  // namespace dyadic::DY_ISA
