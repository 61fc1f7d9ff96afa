// The loop that ggml's simple block formats share: blocks of 32 elements of a row, an f16 scale d in front of their codes, in
// one plane that is byte for byte what a GGUF file holds (ggml-common.h: block_q4_0, block_q8_0). Codes are chosen as
// ggml-quants.c's quantize_row_*_ref does, product and sum rounded one by one. A d that underflows in f16 or whose inverse
// overflows gets the codes of zero; Note [Poisoned blocks].
#pragma once
#include "base/parallel.h"
#include "formats/block/lanes.h"
#include "formats/layout.h"

namespace dyadic::DY_ISA {

// Codec: kBytes of a block; decode(codes, d, out[32]); scale(in[32], absmax) is d; encode(in[32], 1 / d, codes); pack(integers,
// codes).
template <class Codec> struct Ggml {
  static void decode_range(const Format&, const void* storage, Geometry, int64_t begin, int64_t end, float* out) {
    const uint8_t* block = static_cast<const uint8_t*>(storage) + begin / kGgmlBlock * Codec::kBytes;
    for (int64_t i = begin; i < end; block += Codec::kBytes) {
      const int64_t start = i / kGgmlBlock * kGgmlBlock, stop = start + kGgmlBlock < end ? start + kGgmlBlock : end;
      const float d = f16_value(load16(block));
      if (stop - i == kGgmlBlock) {
        Codec::decode(block + 2, d, out);
      } else {
        alignas(64) float whole[kGgmlBlock];
        Codec::decode(block + 2, d, whole);
        for (int64_t j = i; j < stop; ++j) out[j - i] = whole[j - start];
      }
      out += stop - i;
      i = stop;
    }
  }

  static void encode_all(const Format&, const float* in, void* storage, Geometry g, const Round&) {
    uint8_t* base = static_cast<uint8_t*>(storage);
    parallel_for(g.rows * g.cols / kGgmlBlock, 512, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) encode_block(in + b * kGgmlBlock, base + b * Codec::kBytes);
    });
  }

 private:
  static uint16_t load16(const uint8_t* p) { return uint16_t(p[0] | p[1] << 8); }
  static void store16(uint16_t v, uint8_t* p) { p[0] = uint8_t(v), p[1] = uint8_t(v >> 8); }

  static void encode_block(const float* in, uint8_t* block) {
    const float absmax = bits_absmax(absmax_bits(in, kGgmlBlock));
    const float d = finite(absmax) ? Codec::scale(in, absmax) : absmax;
    const float inverse = d != 0 ? 1.0f / d : 0.0f;
    store16(f16_nearest(d), block);
    if (finite(absmax) && finite(inverse)) {
      Codec::encode(in, hn::Set(kF32, inverse), block + 2);
    } else {
      int8_t codes[kGgmlBlock];
      for (int64_t i = 0; i < kGgmlBlock; ++i) {
        const bool infinite = (float_bits(in[i]) & kAbsMask) == kInfBits;
        codes[i] = !infinite ? Codec::kZero : in[i] > 0 ? Codec::kHighest : Codec::kLowest;
      }
      Codec::pack(codes, block + 2);
    }
  }
};

}  // namespace dyadic::DY_ISA
