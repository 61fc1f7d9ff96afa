// q2_0: ggml's 2-bit blocks of 64: d = absmax in f16, codes x / d rounded half away from zero, plus 1; values (code - 1) d.
// Encoding gives -d, 0 and d; 2 d is only read. Bytes: d, then code i in bits 2 (i % 4) of byte i / 4. Where 1 / d overflows (d
// is then 0 in f16), which C leaves undefined, all codes are 1.
#include "formats/block/ggml.h"

namespace dyadic::DY_ISA {
namespace {

struct Q2 {
  static constexpr int64_t kSize = 64, kBytes = 2 + kSize / 4, kBatch = 1;

  static void decode(const uint8_t* block, float* out) {
    alignas(64) int8_t codes[kSize];
    for (int64_t i = 0; i < kSize; ++i) codes[i] = int8_t((block[2 + i / 4] >> (2 * (i % 4)) & 3) - 1);
    scale_codes(codes, kSize, load_f16(block), out);
  }
  static void encode(const float* in, int64_t, const float* absmax, uint8_t* block) {
    const float inverse = *absmax != 0 ? 1.0f / *absmax : 0.0f;
    const VF by = hn::Set(kF32, finite(inverse) ? inverse : 0.0f), half = hn::Set(kF32, 0.5f), minus = hn::Set(kF32, -0.5f);
    alignas(64) uint8_t codes[kSize];
    for (int64_t i = 0; i < kSize; i += kLanes) {
      const VF v = hn::Mul(hn::LoadU(kF32, in + i), by);
      store_bytes(count_if(count_if(hn::Zero(kI32), hn::Ge(v, half)), hn::Gt(v, minus)), codes + i);
    }
    store(*absmax, codes, block);
  }
  static void poison(const float* in, float absmax, uint8_t* block) {
    uint8_t codes[kSize];
    poison_codes(in, kSize, 0, 1, 2, codes);
    store(absmax, codes, block);
  }

 private:
  static void store(float scale, const uint8_t* codes, uint8_t* block) {
    store_f16(scale, block);
    for (int64_t i = 0; i < kSize; i += 4)
      block[2 + i / 4] = uint8_t(codes[i] | codes[i + 1] << 2 | codes[i + 2] << 4 | codes[i + 3] << 6);
  }
};

}  // namespace

extern constexpr FormatDef q2_0_format = ggml_encoded<Q2>("q2_0", "2-bit blocks of 64 with an f16 scale (ggml)", 2);

}  // namespace dyadic::DY_ISA
