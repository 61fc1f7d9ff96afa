#include "formats/e8p_kernel.h"

#include "formats/block/e8p.h"

namespace dyadic::DY_ISA {
namespace {

using namespace e8p;

void turn_all(float* x, int64_t blocks) {
  alignas(64) float turned[kBlock];
  for (; blocks > 0; --blocks, x += kBlock) {
    turn(x, turned);
    __builtin_memcpy(x, turned, sizeof turned);
  }
}

// The scale of the block as it is now.
uint16_t choose_scale(const float* w) {
  const float size = absmax_of(w, kBlock);
  if (!(size > 0) || !finite(size)) return 0;
  float unit[kBlock];
  uint16_t words[kWords];
  for (int64_t i = 0; i < kBlock; ++i) unit[i] = w[i] / size;
  return encode_turned(unit, size, words);
}

void round_block(float* w, float* errors, const float* u, uint8_t* block) {
  const uint16_t d = choose_scale(w);
  const float scale = bf16_value(d), inverse = scale > 0 ? 1.0f / scale : 0.0f;
  store16(d, block);
  for (int64_t first = 0; first < kBlock; first += 8) {
    float x[8], vector[8];
    for (int k = 0; k < 8; ++k) x[k] = w[first + k] * inverse;
    store16(nearest_word(x, vector).word, block + 2 + first / 4);
    float* c = errors + first;
    for (int k = 0; k < 8; ++k) {
      const float rounded = vector[k] * scale;
      float rest = w[first + k] - rounded;
      for (int i = 0; i < k; ++i) rest -= c[i] * u[(first + i) * kBlock + first + k];
      c[k] = rest / u[(first + k) * kBlock + first + k];
      w[first + k] = rounded;
    }
    for (int i = 0; i < 8; ++i) {
      const float* row = u + (first + i) * kBlock;
      for (int64_t k = first + 8; k < kBlock; ++k) w[k] -= c[i] * row[k];
    }
  }
}

}  // namespace

extern constexpr E8pKernel e8p_kernel = {turn_all, round_block};

}  // namespace dyadic::DY_ISA
