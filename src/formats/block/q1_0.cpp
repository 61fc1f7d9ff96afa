// q1_0: ggml's signs: d = the mean magnitude in f16, summed element by element, a bit for each of 128, 1 for what is not
// negative; values d and -d. Bytes: d, then bit i % 8 of byte i / 8. No code is zero, so poisoned blocks are NaN throughout.
#include "formats/block/ggml.h"

namespace dyadic::DY_ISA {
namespace {

struct Q1 {
  static constexpr int64_t kSize = 128, kBytes = 2 + kSize / 8, kBatch = 1;

  static void decode(const uint8_t* block, float* out) {
    alignas(64) int8_t signs[kSize];
    for (int64_t i = 0; i < kSize; ++i) signs[i] = int8_t(2 * (block[2 + i / 8] >> (i % 8) & 1) - 1);
    scale_codes(signs, kSize, load_f16(block), out);
  }
  static void encode(const float* in, int64_t, const float*, uint8_t* block) {
    float sum = 0;
    for (int64_t i = 0; i < kSize; ++i) sum += in[i] < 0 ? -in[i] : in[i];
    store_f16(sum / kSize, block);
    for (int64_t i = 0; i < kSize; i += 8) {
      int bits = 0;
      for (int64_t j = 0; j < 8; ++j) bits |= int(in[i + j] >= 0) << j;
      block[2 + i / 8] = uint8_t(bits);
    }
  }
  static void poison(const float*, float, uint8_t* block) {
    store_f16(kNaN, block);
    __builtin_memset(block + 2, 255, kSize / 8);
  }
};

}  // namespace

extern constexpr FormatDef q1_0_format = ggml_encoded<Q1>("q1_0", "signs in blocks of 128 with an f16 scale (ggml)", 1);

}  // namespace dyadic::DY_ISA
