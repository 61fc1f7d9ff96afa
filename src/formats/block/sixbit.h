// q4_K and q5_K: super-blocks of 8 sub-blocks of 32, values d sc code - dmin m with 6-bit sc and m. Bytes: d and dmin in f16,
// 12 of sc and m, then the codes, which are each format's own. Weights of the search: |x| and the root of the mean square.
#pragma once
#include "formats/block/affine.h"

namespace dyadic::DY_ISA {

struct SixBit {
  uint8_t sc[8], m[8];
};
// Of the 12 bytes: the low 6 bits of 0 .. 3 are sc 0 .. 3, of 4 .. 7 m 0 .. 3; 8 .. 11 hold the low 4 bits of sc (low half) and
// m (high half) 4 .. 7, whose upper 2 bits are those of bytes 0 .. 3 and 4 .. 7.
inline SixBit load_six(const uint8_t* p) {
  SixBit s;
  for (int j = 0; j < 4; ++j) {
    s.sc[j] = p[j] & 63, s.m[j] = p[j + 4] & 63;
    s.sc[j + 4] = uint8_t((p[j + 8] & 15) | p[j] >> 6 << 4);
    s.m[j + 4] = uint8_t(p[j + 8] >> 4 | p[j + 4] >> 6 << 4);
  }
  return s;
}
inline void store_six(const SixBit& s, uint8_t* p) {
  for (int j = 0; j < 4; ++j) {
    p[j] = uint8_t(s.sc[j] | s.sc[j + 4] >> 4 << 6);
    p[j + 4] = uint8_t(s.m[j] | s.m[j + 4] >> 4 << 6);
    p[j + 8] = uint8_t((s.sc[j + 4] & 15) | (s.m[j + 4] & 15) << 4);
  }
}

// Codes: kBits of a code; pack(codes[256], bytes) and unpack(bytes, codes).
template <class Codes> struct SixBitBlock {
  static constexpr int64_t kSize = kSuper, kBytes = 16 + kSuper * Codes::kBits / 8;
  static constexpr int64_t kBatch = kLanes > 8 ? 2 : 1;

  static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block), dmin = load_f16(block + 2);
    const SixBit s = load_six(block + 4);
    alignas(64) uint8_t codes[kSize];
    Codes::unpack(block + 16, codes);
    for (int64_t j = 0; j < 8; ++j) scale_codes(codes + 32 * j, 32, d * float(s.sc[j]), -(dmin * float(s.m[j])), out + 32 * j);
  }

  static void encode(const float* in, int64_t count, const float*, uint8_t* blocks) {
    AffineFit fits[kBatch];
    affine_fit(Codes::kRule, in, count, fits, [](const Column& x, Column& w) {
      VF squares = hn::Zero(kF32);
      for (int i = 0; i < 32; ++i) squares = hn::Add(squares, hn::Mul(x[i], x[i]));
      const VF rms = hn::Sqrt(hn::Div(squares, hn::Set(kF32, 32.0f)));
      for (int i = 0; i < 32; ++i) w.set(i, hn::Add(rms, hn::Abs(x[i])));
    });
    for (int64_t i = 0; i < count; ++i) encode_one(in + i * kSize, fits[i], blocks + i * kBytes);
  }

  static void poison(const float* in, float, uint8_t* block) {
    uint8_t codes[kSize];
    store_f16(poison_unsigned(in, kSize, codes), block);
    store16(0, block + 2);
    store_six({{1, 1, 1, 1, 1, 1, 1, 1}, {}}, block + 4);
    Codes::pack(codes, block + 16);
  }

 private:
  static uint8_t six(float inverse, float v) {
    const uint8_t low = uint8_t(nearest_int(inverse * v));
    return low < 63 ? low : 63;
  }
  static void encode_one(const float* in, const AffineFit& fit, uint8_t* block) {
    const float scale = largest_of(fit.scale, 8), depth = largest_of(fit.depth, 8);
    const float to_sc = scale > 0 ? 63.f / scale : 0.0f, to_m = depth > 0 ? 63.f / depth : 0.0f;
    SixBit s;
    for (int64_t j = 0; j < 8; ++j) s.sc[j] = six(to_sc, fit.scale[j]), s.m[j] = six(to_m, fit.depth[j]);
    const float d = store_f16(scale / 63.f, block), dmin = store_f16(depth / 63.f, block + 2);
    store_six(s, block + 4);
    alignas(64) uint8_t codes[kSize];
    for (int64_t j = 0; j < 8; ++j)
      affine_codes(Codes::kRule, in + 32 * j, fit, j, d * float(s.sc[j]), dmin * float(s.m[j]), codes + 32 * j);
    Codes::pack(codes, block + 16);
  }
};

// 4-bit codes (or the low 4 bits): of each 64, byte l holds the elements l and l + 32.
inline void pack_pairs(const uint8_t* codes, uint8_t* out) {
  for (int j = 0; j < 4; ++j)
    for (int l = 0; l < 32; ++l) out[32 * j + l] = uint8_t((codes[64 * j + l] & 15) | (codes[64 * j + 32 + l] & 15) << 4);
}
inline void unpack_pairs(const uint8_t* packed, uint8_t* codes) {
  for (int i = 0; i < 8; ++i) {
    const Bytes16 both = hn::LoadU(kBytes16, packed + 16 * i);
    uint8_t* out = codes + 64 * (i / 2) + 16 * (i % 2);
    hn::StoreU(hn::And(both, hn::Set(kBytes16, 15)), kBytes16, out);
    hn::StoreU(hn::ShiftRight<4>(both), kBytes16, out + 32);
  }
}

}  // namespace dyadic::DY_ISA
