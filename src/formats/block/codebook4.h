// The 4-bit formats whose values are a table: the numbers alone, in plain C++.
#pragma once
#include "formats/bits.h"

namespace dyadic::DY_ISA {

struct Codebook4 {
  float value[16];          // by code
  float threshold[15];      // ascending: rank = how many lie below x
  uint8_t code[16];         // of a rank
  uint8_t zero;             // the code of zero
  uint8_t lowest, highest;  // the codes of -1 and 1
};

// nf4: the quantiles of N(0, 1) (nf4.cpp).
inline constexpr Codebook4 kNf4 = {
    .value = {-1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f, -0.28444138169288635f,
              -0.18477343022823334f, -0.09105003625154495f, 0.0f, 0.07958029955625534f, 0.16093020141124725f,
              0.24611230194568634f, 0.33791524171829224f, 0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f},
    .threshold = {-0.8480964004993439f, -0.6106329262256622f, -0.4599952697753906f, -0.33967943489551544f,
                  -0.23460740596055984f, -0.13791173323988914f, -0.045525018125772476f, 0.03979014977812767f,
                  0.1202552504837513f, 0.2035212516784668f, 0.2920137718319893f, 0.3893125355243683f, 0.5016634166240692f,
                  0.6427869200706482f, 0.8614784181118011f},
    .code = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    .zero = 7,
    .lowest = 0,
    .highest = 15,
};

// fp4, bitsandbytes' (fp4.cpp).
// "x > -t" would put -t itself one rank too high: take the number below -t.
constexpr float fp4_under(float t) { return -bits_float(float_bits(t) + 1); }

inline constexpr Codebook4 kFp4 = {
    .value = {0.0f, 5.208333333e-03f, 0.66666667f, 1.0f, 0.33333333f, 0.5f, 0.16666667f, 0.25f, -0.0f, -5.208333333e-03f,
              -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f},
    .threshold = {fp4_under(0.8333333f), fp4_under(0.583333f), fp4_under(0.4166667f), fp4_under(0.29166667f),
                  fp4_under(0.20833333f), fp4_under(0.0859375f), fp4_under(0.00260417f), fp4_under(0.0f), 0.00260417f,
                  0.0859375f, 0.20833333f, 0.29166667f, 0.4166667f, 0.583333f, 0.8333333f},
    .code = {11, 10, 13, 12, 15, 14, 9, 8, 0, 1, 6, 7, 4, 5, 2, 3},
    .zero = 0,
    .lowest = 11,
    .highest = 3,
};

// iq4_nl and iq4_xs (kvalues_iq4nl of ggml).
inline constexpr int8_t kIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// mxfp4: e2m1's values, doubled, and the scales of its blocks.
inline constexpr int8_t kMxTwice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};  // e2m1's values, doubled

// Half the scale: 2^(e - 128).
static constexpr float mx_half_scale(int e) {
  return e == 255 ? kNaN : bits_float(e < 2 ? 0x00200000u << e : uint32_t(e - 1) << 23);
}

// floor(log2(x)) where log2 is the f32 nearest to it: just below 2^k it is k, for up to 44 numbers.
static constexpr int mx_floor_log2(float x) {
  const int lifted = x < 0x1p-126f ? 24 : 0;
  const uint32_t u = float_bits(lifted ? x * 0x1p24f : x);
  const int exponent = int(u >> 23) - 127 - lifted, missing = int(0x800000u - (u & 0x7fffffu));  // of 2^23 to the next power
  if (missing > 64) return exponent;
  const double part = missing * 0x1p-24, log = exponent + 1 - part * (1 + part / 2) * 1.4426950408889634;
  return float(log) == float(exponent + 1) ? exponent + 1 : exponent;
}

}  // namespace dyadic::DY_ISA
