// q2_K: ggml's 2-bit super-blocks of 256: 16 sub-blocks of 16, values d sc code - dmin m with 4-bit sc and m. Bytes: 16 of sc
// and m (low and high half), 64 of codes, d and dmin in f16. Weights of the search: |x|; errors: absolute.
#include "formats/block/affine.h"

namespace dyadic::DY_ISA {
namespace {

constexpr AffineRule kRule = {.n = 16, .top = 3, .first = -0.5f, .step = 0.1f, .steps = 15, .absolute = true};

struct Q2 {
  static constexpr int64_t kSize = kSuper, kBytes = 84, kBatch = 1;
  static constexpr int64_t kCodes = 16, kD = 80, kDmin = 82;  // offsets

  static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block + kD), dmin = load_f16(block + kDmin);
    alignas(64) uint8_t codes[kSize];
    unpack_quarters(block + kCodes, codes);
    for (int64_t j = 0; j < 16; ++j)
      scale_codes(codes + 16 * j, 16, d * float(block[j] & 15), -(dmin * float(block[j] >> 4)), out + 16 * j);
  }

  static void encode(const float* in, int64_t, const float*, uint8_t* block) {
    AffineFit fit;
    affine_fit(kRule, in, 1, &fit, [](const Column& x, Column& w) {
      for (int i = 0; i < kRule.n; ++i) w.set(i, hn::Abs(x[i]));
    });
    const float scale = largest_of(fit.scale, 16), depth = largest_of(fit.depth, 16);
    const float to_sc = scale > 0 ? 15.f / scale : 0.0f, to_m = depth > 0 ? 15.f / depth : 0.0f;
    for (int64_t j = 0; j < 16; ++j) {
      const int sc = scale > 0 ? nearest_int(to_sc * fit.scale[j]) : 0, m = depth > 0 ? nearest_int(to_m * fit.depth[j]) : 0;
      block[j] = uint8_t(uint32_t(sc) | uint32_t(m) << 4);
    }
    const float d = store_f16(scale > 0 ? scale / 15.f : 0.0f, block + kD);
    const float dmin = store_f16(depth > 0 ? depth / 15.f : 0.0f, block + kDmin);
    alignas(64) uint8_t codes[kSize];
    for (int64_t j = 0; j < 16; ++j)
      affine_codes(kRule, in + 16 * j, fit, j, d * float(block[j] & 15), dmin * float(block[j] >> 4), codes + 16 * j);
    pack_quarters(codes, block + kCodes);
  }

  static void poison(const float* in, float, uint8_t* block) {
    uint8_t codes[kSize];
    for (int64_t j = 0; j < 16; ++j) block[j] = 1;
    store_f16(poison_unsigned(in, kSize, codes), block + kD);
    store16(0, block + kDmin);
    pack_quarters(codes, block + kCodes);
  }
};

}  // namespace

extern constexpr FormatDef q2_K_format = ggml_encoded<Q2>("q2_K", "2-bit super-blocks of 256 with minima (ggml)", 2);

}  // namespace dyadic::DY_ISA
