// q8_K: ggml's 8-bit super-blocks of 256, its intermediate in products with the other super-blocks: d = -m / 127 in f32, m the
// element of largest magnitude (the first of equals); codes min(127, x / d rounded), then the sums of each 16 codes in 16 bits.
// Where 1 / d overflows, codes and d are 0. A block of zeros has sums of 0, which ggml leaves as they were.
#include "formats/block/super.h"

namespace dyadic::DY_ISA {
namespace {

struct Q8 {
  static constexpr int64_t kSize = kSuper, kBytes = 4 + kSuper + 2 * kSuper / 16, kBatch = 1;

  static void decode(const uint8_t* block, float* out) {
    float d;
    __builtin_memcpy(&d, block, 4);
    scale_codes(reinterpret_cast<const int8_t*>(block + 4), kSize, d, out);
  }
  static void encode(const float* in, int64_t, const float* absmax, uint8_t* block) {
    if (*absmax == 0) return void(__builtin_memset(block, 0, kBytes));
    const float inverse = -127.f / first_largest(in, kSize, *absmax), d = 1 / inverse;
    __builtin_memcpy(block, &d, 4);
    const VF by = hn::Set(kF32, inverse);
    constexpr hn::RebindToUnsigned<I32> words{};
    constexpr hn::Rebind<uint8_t, I32> bytes{};
    for (int64_t i = 0; i < kSize; i += kLanes) {
      const VI code = hn::Min(nearest_int(hn::Mul(by, hn::LoadU(kF32, in + i))), hn::Set(kI32, 127));
      hn::StoreU(hn::TruncateTo(bytes, hn::BitCast(words, code)), bytes, block + 4 + i);
    }
    sum(block);
  }
  static void poison(const float* in, float absmax, uint8_t* block) {
    __builtin_memcpy(block, &absmax, 4);
    poison_codes(in, kSize, -127, 0, 127, block + 4);
    sum(block);
  }

 private:
  static void sum(uint8_t* block) {
    for (int64_t j = 0; j < kSize / 16; ++j) {
      int s = 0;
      for (int64_t i = 0; i < 16; ++i) s += int8_t(block[4 + 16 * j + i]);
      store16(uint16_t(s), block + 4 + kSize + 2 * j);
    }
  }
};

constexpr FormatDef make() {
  FormatDef def = ggml_encoded<Q8>("q8_K", "8-bit super-blocks of 256 with sums (ggml)", 8);
  def.defaults.scale = &detail::f32;
  return def;
}

}  // namespace

extern constexpr FormatDef q8_K_format = make();

}  // namespace dyadic::DY_ISA
