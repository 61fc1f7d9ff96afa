// e8p: 8 elements by one word of 16 bits, in blocks of 128 that are turned by a Hadamard matrix (e8p.h). Bytes: d in bf16, 16
// words. Element i of the block is d / (4 sqrt(128)) times sign i times element i of H q, q the words' values in quarters:
// whole numbers, so that only d's product is rounded. A block with a NaN or an infinity is NaN: every element depends on all
// words.
#include "formats/block/e8p.h"

namespace dyadic::DY_ISA {
namespace {

struct E8p {
  static constexpr int64_t kSize = e8p::kBlock, kBytes = 2 + 2 * e8p::kWords, kBatch = 1;

  static void decode(const uint8_t* block, float* out) {
    alignas(64) int16_t whole[kSize];
    e8p::turn_back(block + 2, whole);
    constexpr hn::Rebind<int16_t, I32> shorts{};
    const VF d = hn::Set(kF32, bf16_value(load16(block)) * (0.25f * e8p::kTurn));
    for (int64_t i = 0; i < kSize; i += kLanes) {
      const VF x = hn::ConvertTo(kF32, hn::PromoteTo(kI32, hn::Load(shorts, whole + i)));
      hn::StoreU(hn::Mul(x, hn::Mul(hn::Load(kF32, e8p::kSigns.value + i), d)), kF32, out + i);
    }
  }
  // In units of the block's largest magnitude, so that squares neither overflow nor vanish.
  static void encode(const float* in, int64_t, const float* absmax, uint8_t* block) {
    uint16_t words[e8p::kWords] = {}, d = 0;
    if (*absmax != 0) {
      const float lift = *absmax < kTiny ? kLift : 1.0f, size = *absmax * lift;
      alignas(64) float unit[kSize], turned[kSize];
      for (int64_t i = 0; i < kSize; ++i) unit[i] = in[i] * lift / size;
      e8p::turn(unit, turned);
      d = e8p::encode_turned(turned, *absmax, words);
    }
    store(d, words, block);
  }
  static void poison(const float*, float, uint8_t* block) {
    const uint16_t words[e8p::kWords] = {};
    store(bf16_nearest(kNaN), words, block);
  }

 private:
  static void store(uint16_t d, const uint16_t* words, uint8_t* block) {
    store16(d, block);
    for (int64_t i = 0; i < e8p::kWords; ++i) store16(words[i], block + 2 + 2 * i);
  }
};

constexpr FormatDef make() {
  FormatDef def =
      ggml_encoded<E8p>("e8p", "2.125-bit blocks of 128 over the E8 lattice, turned by a Hadamard matrix (QuIP#)", 2);
  def.defaults.scale = &detail::bf16;
  return def;
}

}  // namespace

extern constexpr FormatDef e8p_format = make();

}  // namespace dyadic::DY_ISA
