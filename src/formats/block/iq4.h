// iq4_nl and iq4_xs: 4-bit codes of 16 unevenly spaced values (kvalues_iq4nl of ggml), one scale per 32 elements. The nearest
// of two neighbours a and b is decided as ggml does, by x - a < b - x. Both differences are exact where it matters, so that is
// x < (a + b) / 2; NaN counts as large.
#pragma once
#include "formats/block/codebook4.h"
#include "formats/block/ggml_nibbles.h"
#include "formats/block/nibbles.h"
#include "formats/block/super.h"

namespace dyadic::DY_ISA {

struct Iq4Middles {
  float at[15];
};
constexpr Iq4Middles make_iq4_middles() {
  Iq4Middles m{};
  for (int i = 0; i < 15; ++i) m.at[i] = float(kIq4[i] + kIq4[i + 1]) / 2;
  return m;
}
inline constexpr Iq4Middles kIq4Middles = make_iq4_middles();
inline constexpr Thresholds kIq4Thresholds = make_thresholds(kIq4Middles.at);

// The codes nearest to the elements divided by a scale.
inline void iq4_codes(const float* x, float scale, uint8_t* codes) {
  const VF inverse = hn::Set(kF32, scale != 0 ? 1 / scale : 0.0f);
  for (int64_t i = 0; i < kGgmlBlock; i += kLanes) {
    const VF v = hn::Mul(inverse, hn::LoadU(kF32, x + i));
    VI node = hn::Zero(kI32);
    for (int l = 0; l < 4; ++l)
      node = count_if(hn::Add(node, node), hn::Not(hn::Lt(v, lookup8(kIq4Thresholds.level[l], node))));
    store_bytes(node, codes + i);
  }
}

// The range of the search's x, |x| < 135, in equal parts: those with at most kInside middles are told apart by that many
// comparisons. Where there are fewer, the last are infinite.
template <int kParts, int kInside> struct Iq4Parts {
  static constexpr float kFirst = -135.5f, kWidth = 288.0f / kParts;
  float middle[kInside][kParts], value[kInside + 1][kParts];
};
template <int kParts, int kInside> constexpr Iq4Parts<kParts, kInside> make_iq4_parts() {
  using Parts = Iq4Parts<kParts, kInside>;
  Parts t{};
  int code = 0;
  for (int part = 0; part < kParts; ++part) {
    const float end = Parts::kFirst + Parts::kWidth * float(part + 1);
    for (int k = 0; k <= kInside; ++k) {
      const bool more = code < 15 && kIq4Middles.at[code] < end;
      t.value[k][part] = kIq4[code];
      if (k < kInside) t.middle[k][part] = more ? kIq4Middles.at[code++] : bits_float(kInfBits);
    }
  }
  return t;
}
// The value nearest to x, |x| < 135. No middle lies near a part's ends, so that rounding there does no harm.
#if DY_ISA_avx512
inline constexpr auto kIq4Parts = make_iq4_parts<32, 1>();
inline VF iq4_look_up(const float* table, VI at) {
  return VF{_mm512_permutex2var_ps(_mm512_loadu_ps(table), at.raw, _mm512_loadu_ps(table + 16))};
}
#elif DY_ISA_avx2
inline constexpr auto kIq4Parts = make_iq4_parts<8, 3>();
inline VF iq4_look_up(const float* table, VI at) { return lookup8(table, at); }
#endif
inline VF iq4_value(VF x) {
#if DY_ISA_sse4
  VF v = hn::Set(kF32, float(kIq4[0]));
  for (int i = 0; i < 15; ++i) {
    const VF next = hn::Set(kF32, float(kIq4[i + 1] - kIq4[i]));
    v = hn::Add(v, hn::IfThenZeroElse(hn::Lt(x, hn::Set(kF32, kIq4Middles.at[i])), next));
  }
  return v;
#else
  const auto& t = kIq4Parts;
  const VF scale = hn::Set(kF32, 1 / t.kWidth), offset = hn::Set(kF32, -t.kFirst / t.kWidth);
  const VI at = truncate(hn::MulAdd(x, scale, offset));
  const auto value = [&](int k) { return iq4_look_up(t.value[k], at); };
  const auto below = [&](int k) { return hn::Lt(x, iq4_look_up(t.middle[k], at)); };
#if DY_ISA_avx512
  return hn::IfThenElse(below(0), value(0), value(1));
#else
  const VF low = hn::IfThenElse(below(0), value(0), value(1)), high = hn::IfThenElse(below(2), value(2), value(3));
  return hn::IfThenElse(below(1), low, high);
#endif
#endif
}

inline void iq4_decode(const uint8_t* packed, float scale, float* out) {
  int8_t values[kGgmlBlock];
  look_up_halves(packed, kIq4, values);
  scale_codes(values, kGgmlBlock, scale, out);
}

struct Iq4Sums {
  VF qx, q2;
};
inline Iq4Sums iq4_correlate(const Column& x, const Column& squares, VF inverse) {
  Iq4Sums s{hn::Zero(kF32), hn::Zero(kF32)};
  for (int i = 0; i < kGgmlBlock; ++i) {
    const VF v = x[i], q = iq4_value(hn::Mul(inverse, v)), wq = hn::Mul(squares[i], q);
    s.qx = hn::Add(s.qx, hn::Mul(wq, v));
    s.q2 = hn::Add(s.q2, hn::Mul(wq, q));
  }
  return s;
}

// Scales of `count` <= kLanes blocks of 32, as ggml's file writer finds them without an importance matrix: of the inverse
// scales 127 / m, m the element of largest magnitude, and (k - 127) / m, |k| <= 7, the one whose codes correlate best, weights
// x^2. 0 for a block that counts as zero.
inline void iq4_scales(const float* in, int64_t count, float* scale_out) {
  const VF zero = hn::Zero(kF32);
  Column x, squares;
  load_column(in, kGgmlBlock, count, x);
  for (int i = 0; i < kGgmlBlock; ++i) squares.set(i, hn::Mul(x[i], x[i]));
  const Largest m = largest(x, kGgmlBlock);
  const auto nothing = hn::Lt(m.size, hn::Set(kF32, kNothing));
  Iq4Sums s = iq4_correlate(x, squares, hn::Div(hn::Set(kF32, 1.0f), hn::Div(m.value, hn::Set(kF32, 127.0f))));
  VF d = hn::IfThenElse(hn::Gt(s.q2, zero), hn::Div(s.qx, s.q2), zero), best = hn::Mul(d, s.qx);
  for (int k = -7; k <= 7; ++k) {
    s = iq4_correlate(x, squares, hn::Div(hn::Set(kF32, float(k + kIq4[0])), m.value));
    const auto better = hn::And(hn::Gt(s.q2, zero), hn::Gt(hn::Mul(s.qx, s.qx), hn::Mul(best, s.q2)));
    d = hn::IfThenElse(better, hn::Div(s.qx, s.q2), d);
    best = hn::IfThenElse(better, hn::Mul(d, s.qx), best);
  }
  hn::StoreU(hn::IfThenZeroElse(nothing, d), kF32, scale_out);
}

}  // namespace dyadic::DY_ISA
