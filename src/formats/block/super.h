// Searches over the sub-blocks of ggml's super-blocks: each SIMD lane searches for one sub-block, in the order of operations of
// the scalar code, so that every lane has its bits. The sub-blocks (16 or 32 elements) are laid out element by element.
#pragma once
#include "formats/block/ggml.h"

namespace dyadic::DY_ISA {

inline constexpr int kMaxSub = 32;           // elements of a sub-block
inline constexpr float kNothing = 1e-15f;    // GROUP_MAX_EPS: a sub-block whose magnitudes lie below counts as zero
inline constexpr float kMagic = 12582912.f;  // 1.5 * 2^23: adding it rounds to an integer, ties to even

// ggml's nearest_int, also of what doesn't fit in 23 bits: the low bits of the sum, as they are.
inline int nearest_int(float x) { return int(float_bits(x + kMagic) & 0x7fffffu) - 0x400000; }
inline VI nearest_int(VF x) {
  const VI bits = hn::BitCast(kI32, hn::Add(x, hn::Set(kF32, kMagic)));
  return hn::Sub(hn::And(bits, hn::Set(kI32, 0x7fffff)), hn::Set(kI32, 0x400000));
}
inline int clamp(int v, int low, int high) { return v < low ? low : v > high ? high : v; }
inline VI clamp(VI v, VI low, VI high) { return hn::Min(hn::Max(v, low), high); }

struct Column {  // a sub-block in each lane: element i is at[i]
  alignas(64) float at[kMaxSub][kLanes];
  VF operator[](int i) const { return hn::Load(kF32, at[i]); }
  void set(int i, VF v) { hn::Store(v, kF32, at[i]); }
};
// `count` sub-blocks of n elements that follow each other; the lanes beyond repeat the first.
inline void load_column(const float* in, int n, int64_t count, Column& x) {
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    const float* from = in + (lane < count ? lane : 0) * n;
    for (int i = 0; i < n; ++i) x.at[i][lane] = from[i];
  }
}

// The element of largest magnitude in each lane, the first of equals.
struct Largest {
  VF size, value;
};
inline Largest largest(const Column& x, int n) {
  Largest m{hn::Zero(kF32), hn::Zero(kF32)};
  for (int i = 0; i < n; ++i) {
    const VF size = hn::Abs(x[i]);
    const auto more = hn::Gt(size, m.size);
    m.size = hn::IfThenElse(more, size, m.size);
    m.value = hn::IfThenElse(more, x[i], m.value);
  }
  return m;
}

// codes = clamp(nearest_int((x + offset) / d), low, high) - low, as bytes.
inline void divide_codes(const float* x, int n, float d, float offset, int low, int high, uint8_t* codes) {
  const VF by = hn::Set(kF32, d), plus = hn::Set(kF32, offset);
  const VI least = hn::Set(kI32, low), most = hn::Set(kI32, high);
  for (int i = 0; i < n; i += int(kLanes)) {
    const VI code = nearest_int(hn::Div(hn::Add(hn::LoadU(kF32, x + i), plus), by));
    store_bytes(hn::Sub(clamp(code, least, most), least), codes + i);
  }
}

// 2-bit codes: of each 128, the bytes 0 .. 31 hold the elements l, l + 32, l + 64, l + 96 from the lowest bits up.
inline void pack_quarters(const uint8_t* codes, uint8_t* out) {
  for (int h = 0; h < 2; ++h)
    for (int l = 0; l < 32; ++l) {
      const uint8_t* c = codes + 128 * h + l;
      out[32 * h + l] = uint8_t((c[0] & 3) | (c[32] & 3) << 2 | (c[64] & 3) << 4 | (c[96] & 3) << 6);
    }
}
inline void unpack_quarters(const uint8_t* packed, uint8_t* codes) {
  for (int h = 0; h < 2; ++h)
    for (int shift = 0; shift < 4; ++shift)
      for (int l = 0; l < 32; ++l) codes[128 * h + 32 * shift + l] = packed[32 * h + l] >> (2 * shift) & 3;
}

}  // namespace dyadic::DY_ISA
