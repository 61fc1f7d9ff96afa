// iq4_xs: ggml's 4-bit super-blocks of 256 over uneven values (iq4.h): 8 blocks of 32 with scales d (sc - 32), 6-bit sc. Bytes:
// d in f16, 2 of the sc's upper 2 bits, 4 of their low 4, 128 of codes.
#include "formats/block/iq4.h"

namespace dyadic::DY_ISA {
namespace {

struct Iq4 {
  static constexpr int64_t kSize = kSuper, kBytes = 136, kBatch = kLanes > 8 ? 2 : 1;

  static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const int upper = load16(block + 2);
    for (int j = 0; j < 8; ++j) {
      const int sc = (block[4 + j / 2] >> (4 * (j % 2)) & 15) | (upper >> (2 * j) & 3) << 4;
      iq4_decode(block + 8 + 16 * j, d * float(sc - 32), out + 32 * j);
    }
  }
  static void encode(const float* in, int64_t count, const float*, uint8_t* blocks) {
    float scale[16];
    for (int64_t at = 0; at < 8 * count; at += kLanes) iq4_scales(in + 32 * at, 8 * count - at, scale + at);
    for (int64_t i = 0; i < count; ++i) encode_one(in + i * kSize, scale + 8 * i, blocks + i * kBytes);
  }
  static void poison(const float*, float, uint8_t* block) {  // as iq4_nl
    __builtin_memset(block, 0x88, kBytes);
    store_f16(kNaN, block);
  }

 private:
  static void encode_one(const float* in, const float* scale, uint8_t* block) {
    float size = 0, most = 0;
    for (int j = 0; j < 8; ++j) {
      const float s = scale[j] < 0 ? -scale[j] : scale[j];
      if (s > size) size = s, most = scale[j];
    }
    const float d = -most / 32, inverse = d != 0 ? 1 / d : 0.0f;
    store_f16(d, block);
    int upper = 0;
    for (int j = 0; j < 8; ++j) {
      const int l = clamp(nearest_int(inverse * scale[j]), -32, 31), sc = l + 32;
      uint8_t codes[32];
      iq4_codes(in + 32 * j, d * float(l), codes);
      pack_halves(codes, block + 8 + 16 * j);
      uint8_t& low = block[4 + j / 2];
      low = uint8_t(j % 2 ? low | (sc & 15) << 4 : sc & 15);
      upper |= sc >> 4 << (2 * j);
    }
    store16(uint16_t(upper), block + 2);
  }
};

}  // namespace

extern constexpr FormatDef iq4_xs_format =
    ggml_encoded<Iq4>("iq4_xs", "4-bit super-blocks of 256 over uneven values (ggml)", 4);

}  // namespace dyadic::DY_ISA
