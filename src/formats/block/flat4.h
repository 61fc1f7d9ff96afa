// The 4-bit codebook formats of bitsandbytes (nf4, fp4): flat blocks over storage order, an f32 absmax each, the first element
// in the high nibble. With `double`, the absmaxes, less their mean, are stored as signed dynamic8 with 256 to a block; the mean
// stays f32 (bitsandbytes' functional.quantize_4bit, compress_statistics). The mean is summed in f64 in a fixed order; blocks
// whose absmax is not finite count as zero in it. Note [Poisoned blocks] then holds for the 256 blocks that share a nested
// absmax.
#pragma once
#include "base/parallel.h"
#include "formats/block/codebook4.h"
#include "formats/block/dynamic8.h"
#include "formats/block/nibbles.h"
#include "formats/layout.h"

namespace dyadic::DY_ISA {

template <const Codebook4& kBook> struct Flat4 {
  static constexpr Thresholds kThresholds = make_thresholds(kBook.threshold);
  static constexpr int64_t kTile = 256;

  static void decode_range(const Format& f, const void* storage, Geometry g, int64_t begin, int64_t end, float* out) {
    const FlatLayout l = flat_layout(f, g);
    const uint8_t* base = static_cast<const uint8_t*>(storage);
    int64_t block = begin / l.block;
    for (int64_t i = begin; i < end; ++block) {
      int64_t stop = (block + 1) * l.block;
      stop = stop < end ? stop : end;
      const float scale = block_scale(base, l, block);
      alignas(64) float table[16];
      for (int64_t k = 0; k < 16; k += kLanes)
        hn::Store(hn::Mul(hn::LoadU(kF32, kBook.value + k), hn::Set(kF32, scale)), kF32, table + k);
      decode_nibbles<Order::high_first>(base + l.codes, i, stop, table, out);
      out += stop - i;
      i = stop;
    }
  }

  static void encode_all(const Format& f, const float* in, void* storage, Geometry g, const Round&) {
    const FlatLayout l = flat_layout(f, g);
    uint8_t* base = static_cast<uint8_t*>(storage);
    if (l.nested >= 0) return encode_doubled(l, in, base);
    float* absmax = reinterpret_cast<float*>(base + l.absmax);
    const int64_t grain = 16384 / l.block + 1;
    parallel_for(l.blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) absmax[b] = encode_block(l, in, base, b);
    });
  }

  static double decode1(const Format&, uint64_t code) { return kBook.value[code & 15]; }
  static uint64_t encode1(const Format&, double value) {
    int rank = 0;
    while (rank < 15 && float(value) > kBook.threshold[rank]) ++rank;
    return kBook.code[rank];
  }

 private:
  static float block_scale(const uint8_t* base, const FlatLayout& l, int64_t block) {
    if (l.nested < 0) return reinterpret_cast<const float*>(base + l.absmax)[block];
    const float nested = reinterpret_cast<const float*>(base + l.nested)[block / kNestedBlock];
    return SignedDynamic8::kTables.value[base[l.absmax + block]] * nested + *reinterpret_cast<const float*>(base + l.offset);
  }

  static float encode_block(const FlatLayout& l, const float* in, uint8_t* base, int64_t block) {
    const int64_t begin = block * l.block, end = begin + l.block < l.numel ? begin + l.block : l.numel;
    const float absmax = bits_absmax(absmax_bits(in + begin, end - begin));
    uint8_t* codes = base + l.codes + begin / 2;
    if (absmax >= kTiny && finite(absmax)) {
      encode_run(in + begin, end - begin, absmax, codes);
    } else {
      encode_rare(in + begin, end - begin, absmax, codes);
    }
    return absmax;
  }

  static void encode_run(const float* in, int64_t n, float absmax, uint8_t* codes) {
    const VF inverse = hn::Set(kF32, 1.0f / absmax);
    encode_nibbles<Order::high_first>(in, n, codes, [&](VF x) {
      const VI r = rank<kThresholds>(hn::Mul(x, inverse));
      if constexpr (kBook.code[0] == 0 && kBook.code[1] == 1) {
        return r;  // nf4's ranks are its codes
      } else {
        constexpr hn::ScalableTag<uint8_t> bytes{};
        const auto table = hn::LoadDup128(bytes, kBook.code);
        return hn::And(hn::BitCast(kI32, hn::TableLookupBytes(table, hn::BitCast(bytes, r))), hn::Set(kI32, 15));
      }
    });
  }
  // Scales that are zero, tiny or not finite.
  [[gnu::noinline]] static void encode_rare(const float* in, int64_t n, float absmax, uint8_t* codes) {
    for (int64_t i = 0; i < n; i += kTile) {
      const int64_t m = n - i < kTile ? n - i : kTile;
      if (absmax > 0 && finite(absmax)) {
        alignas(64) float lifted[kTile];
        for (int64_t j = 0; j < m; ++j) lifted[j] = in[i + j] * kLift;
        encode_run(lifted, m, absmax * kLift, codes + i / 2);
      } else {
        uint8_t tile[kTile];
        for (int64_t j = 0; j < m; ++j) {
          const float x = in[i + j];
          const bool infinite = (float_bits(x) & kAbsMask) == kInfBits;
          tile[j] = !infinite ? kBook.zero : x > 0 ? kBook.highest : kBook.lowest;
        }
        pack_nibbles<Order::high_first>(tile, m, codes + i / 2, kBook.zero);
      }
    }
  }

  // Two passes over the input rather than a buffer for all the absmaxes: the mean must be known before the first is encoded.
  // The nested absmaxes' plane holds the partial sums meanwhile.
  static void encode_doubled(const FlatLayout& l, const float* in, uint8_t* base) {
    const int64_t nested_blocks = (l.blocks + kNestedBlock - 1) / kNestedBlock;
    float* nested = reinterpret_cast<float*>(base + l.nested);
    auto sum = [&](int64_t n) {
      const int64_t last = (n + 1) * kNestedBlock < l.blocks ? (n + 1) * kNestedBlock : l.blocks;
      double total = 0;
      for (int64_t b = n * kNestedBlock; b < last; ++b) {
        const float absmax = encode_block(l, in, base, b);
        total += finite(absmax) ? absmax : 0.0f;
      }
      nested[n] = float(total);
    };
    parallel_for(nested_blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) sum(n);
    });
    double total = 0;
    for (int64_t n = 0; n < nested_blocks; ++n) total += nested[n];
    const float mean = l.blocks ? float(total / double(l.blocks)) : 0.0f;
    *reinterpret_cast<float*>(base + l.offset) = mean;
    parallel_for(nested_blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) encode_nested(l, in, base, n, mean);
    });
  }
  static void encode_nested(const FlatLayout& l, const float* in, uint8_t* base, int64_t n, float mean) {
    const int64_t first = n * kNestedBlock, last = first + kNestedBlock < l.blocks ? first + kNestedBlock : l.blocks;
    float scales[kNestedBlock];
    for (int64_t b = first; b < last; ++b) {
      const int64_t begin = b * l.block, end = begin + l.block < l.numel ? begin + l.block : l.numel;
      scales[b - first] = bits_absmax(absmax_bits(in + begin, end - begin)) - mean;
    }
    reinterpret_cast<float*>(base + l.nested)[n] = SignedDynamic8::encode_block(scales, base + l.absmax + first, last - first);
  }
};

}  // namespace dyadic::DY_ISA
