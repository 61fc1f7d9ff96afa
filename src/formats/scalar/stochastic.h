// Stochastic rounding for the 16-bit floats: 32 random bits for the element at each index of storage order, whatever the cut.
#pragma once
#include "formats/format.h"

namespace dyadic::DY_ISA {

// Philox4x32-10 interim.
inline void random_words(uint64_t seed, uint64_t stream, uint64_t begin, int64_t n, uint32_t* out) {
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t at = begin + uint64_t(i), c = at >> 2;
    uint32_t x[4] = {uint32_t(c), uint32_t(c >> 32), uint32_t(stream), uint32_t(stream >> 32)};
    uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
    for (int r = 0; r < 10; ++r) {
      const uint64_t a = uint64_t(x[0]) * 0xD2511F53u, b = uint64_t(x[2]) * 0xCD9E8D57u;
      const uint32_t y0 = uint32_t(b >> 32) ^ x[1] ^ k0, y2 = uint32_t(a >> 32) ^ x[3] ^ k1;
      x[0] = y0, x[1] = uint32_t(b), x[2] = y2, x[3] = uint32_t(a);
      k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    out[i] = x[at & 3];
  }
}

// One(x, random bits) -> code.
template <uint16_t (*kOne)(float, uint32_t)>
void encode_stochastic(const float* computed, uint16_t* stored, int64_t n, const Round& round) {
  uint32_t random[512];
  for (int64_t i = 0; i < n; i += 512) {
    const int64_t m = n - i < 512 ? n - i : 512;
    random_words(round.seed, round.stream, round.index + uint64_t(i), m, random);
    const float* __restrict__ c = computed + i;
    uint16_t* __restrict__ s = stored + i;
    for (int64_t j = 0; j < m; ++j) s[j] = kOne(c[j], random[j]);
  }
}

}  // namespace dyadic::DY_ISA
