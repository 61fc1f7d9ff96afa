// q6_K: ggml's 6-bit super-blocks of 256: 16 sub-blocks of 16, values d sc (code - 32) with signed 8-bit sc. Bytes: 128 of the
// codes' low 4 bits, 64 of their upper 2, 16 of sc, d in f16. The search (make_qx_quants) tries the inverse scales
// -(32 + 0.1 k) / m, k = -9 .. 9, m the element of largest magnitude, and keeps the best weighted correlation (weights x^2).
#include "formats/block/super.h"

namespace dyadic::DY_ISA {
namespace {

struct Fit {  // of the 16 sub-blocks; codes of the search: clamp(nearest_int(inverse x)) + 32, or 0 where inverse is 0
  float scale[16], inverse[16];
};

struct Sums {
  VF lx, l2;
};
Sums correlate(const Column& x, VF inverse) {
  Sums s{hn::Zero(kF32), hn::Zero(kF32)};
  for (int i = 0; i < 16; ++i) {
    const VF v = x[i], w = hn::Mul(v, v);
    const VI code = clamp(nearest_int(hn::Mul(inverse, v)), hn::Set(kI32, -32), hn::Set(kI32, 31));
    const VF l = hn::ConvertTo(kF32, code);
    s.lx = hn::Add(s.lx, hn::Mul(hn::Mul(w, v), l));
    s.l2 = hn::Add(s.l2, hn::Mul(hn::Mul(w, l), l));
  }
  return s;
}

void search(const float* in, Fit& fit) {
  const VF zero = hn::Zero(kF32);
  for (int64_t first = 0; first < 16; first += kLanes) {
    Column x;
    load_column(in + 16 * first, 16, 16 - first, x);
    const Largest m = largest(x, 16);
    const auto nothing = hn::Lt(m.size, hn::Set(kF32, kNothing));
    VF inverse = hn::Div(hn::Set(kF32, -32.0f), m.value);
    Sums s = correlate(x, inverse);
    VF scale = hn::IfThenElse(hn::Ne(s.l2, zero), hn::Div(s.lx, s.l2), zero), best = hn::Mul(scale, s.lx);
    for (int k = -9; k <= 9; ++k) {
      if (k == 0) continue;
      const VF tried = hn::Div(hn::Set(kF32, -(32.0f + 0.1f * float(k))), m.value);
      s = correlate(x, tried);
      const auto better = hn::And(hn::Gt(s.l2, zero), hn::Gt(hn::Mul(s.lx, s.lx), hn::Mul(best, s.l2)));
      scale = hn::IfThenElse(better, hn::Div(s.lx, s.l2), scale);
      best = hn::IfThenElse(better, hn::Mul(scale, s.lx), best);
      inverse = hn::IfThenElse(better, tried, inverse);
    }
    hn::StoreU(hn::IfThenZeroElse(nothing, scale), kF32, fit.scale + first);
    hn::StoreU(hn::IfThenZeroElse(nothing, inverse), kF32, fit.inverse + first);
  }
}

struct Q6 {
  static constexpr int64_t kSize = kSuper, kBytes = 210, kBatch = 1;
  static constexpr int64_t kHigh = 128, kScales = 192, kD = 208;  // offsets

  // Of each 128 elements, 64 bytes of low bits: byte l < 32 of elements l and l + 64, byte 32 + l of l + 32 and l + 96.
  static void store_codes(const uint8_t* codes, uint8_t* block) {
    uint8_t upper[kSize];
    for (int i = 0; i < kSize; ++i) upper[i] = codes[i] >> 4;
    pack_quarters(upper, block + kHigh);
    for (int h = 0; h < 2; ++h)
      for (int l = 0; l < 64; ++l) block[64 * h + l] = uint8_t((codes[128 * h + l] & 15) | (codes[128 * h + 64 + l] & 15) << 4);
  }
  static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block + kD);
    alignas(64) uint8_t upper[kSize];
    alignas(64) int8_t codes[kSize];
    unpack_quarters(block + kHigh, upper);
    for (int h = 0; h < 2; ++h)
      for (int l = 0; l < 64; ++l) {
        const uint8_t pair = block[64 * h + l];
        codes[128 * h + l] = int8_t((pair & 15) + (upper[128 * h + l] << 4) - 32);
        codes[128 * h + 64 + l] = int8_t((pair >> 4) + (upper[128 * h + 64 + l] << 4) - 32);
      }
    for (int64_t j = 0; j < 16; ++j) scale_codes(codes + 16 * j, 16, d * float(int8_t(block[kScales + j])), out + 16 * j);
  }

  static void encode(const float* in, int64_t, const float*, uint8_t* block) {
    Fit fit;
    search(in, fit);
    float size = 0, most = 0;
    for (const float s : fit.scale)
      if ((s < 0 ? -s : s) > size) size = s < 0 ? -s : s, most = s;
    if (size < kNothing) return void(__builtin_memset(block, 0, kBytes));
    const float inverse = -128.f / most, d = store_f16(1 / inverse, block + kD);
    uint8_t codes[kSize];
    for (int j = 0; j < 16; ++j) {
      const int l = nearest_int(inverse * fit.scale[j]);
      const int8_t sc = int8_t(l < 127 ? l : 127);
      block[kScales + j] = uint8_t(sc);
      const float step = d * float(sc);
      const float* x = in + 16 * j;
      if (step != 0) {
        divide_codes(x, 16, step, 0, -32, 31, codes + 16 * j);
      } else {
        for (int i = 0; i < 16; ++i) {
          const int code = clamp(nearest_int(fit.inverse[j] * x[i]), -32, 31) + 32;
          codes[16 * j + i] = fit.inverse[j] == 0 ? 0 : uint8_t(code);
        }
      }
    }
    store_codes(codes, block);
  }

  static void poison(const float* in, float absmax, uint8_t* block) {
    uint8_t codes[kSize];
    poison_codes(in, kSize, 31, 32, 33, codes);
    store_codes(codes, block);
    __builtin_memset(block + kScales, 1, 16);
    store_f16(absmax, block + kD);
  }
};

}  // namespace

extern constexpr FormatDef q6_K_format = ggml_encoded<Q6>("q6_K", "6-bit super-blocks of 256 (ggml)", 6);

}  // namespace dyadic::DY_ISA
