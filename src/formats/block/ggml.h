// What ggml's block formats share. A row is a sequence of blocks of 32 or 256 elements, each block a few scales and packed
// codes, in one plane that is byte for byte what a GGUF file holds (the block_* structs of ggml-common.h). Encoding computes
// what ggml's file writer (ggml_quantize_chunk) computes on x86-64 without fused operations and without an importance matrix:
// every product, sum, quotient and comparison in the same order, so finite input gives the same bytes, also where sums overflow
// or scales underflow. Where that C code has no defined result, the format's file says what is done here.
//
// Blocks that hold a NaN or an infinity never reach that arithmetic: Note [Poisoned blocks]. Formats whose codes have no sign
// represent the infinities of one sign by a scale of that sign; a block with both decodes to NaN throughout.
#pragma once
#include "base/parallel.h"
#include "formats/block/lanes.h"
#include "formats/layout.h"

namespace dyadic::DY_ISA {

inline constexpr int64_t kSuper = 256;  // elements of a super-block

inline uint16_t load16(const uint8_t* p) { return uint16_t(p[0] | p[1] << 8); }
inline void store16(uint16_t v, uint8_t* p) { p[0] = uint8_t(v), p[1] = uint8_t(v >> 8); }
inline float load_f16(const uint8_t* p) { return f16_value(load16(p)); }
// Stores the nearest f16 and gives its value.
inline float store_f16(float x, uint8_t* p) {
#if DY_ISA_sse4
  const uint16_t h = f16_nearest(x);
#else
  const uint16_t h = _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
#endif
  store16(h, p);
  return f16_value(h);
}

inline constexpr hn::Full128<uint8_t> kBytes16{};
using Bytes16 = hn::Vec<hn::Full128<uint8_t>>;

// The largest magnitude of whole blocks; NaN wins.
inline float absmax_of(const float* in, int64_t n) {
  const VI mask = hn::Set(kI32, int32_t(kAbsMask));
  VI a = hn::Zero(kI32), b = a;
  for (int64_t i = 0; i < n; i += 2 * kLanes) {
    a = hn::Max(a, hn::And(mask, hn::BitCast(kI32, hn::LoadU(kF32, in + i))));
    b = hn::Max(b, hn::And(mask, hn::BitCast(kI32, hn::LoadU(kF32, in + i + kLanes))));
  }
  return bits_absmax(uint32_t(hn::GetLane(hn::MaxOfLanes(kI32, hn::Max(a, b)))));
}

// Block: kSize elements in kBytes bytes; decode(block, out[kSize]). What can be encoded has also encode(in, count, absmax,
// blocks): up to kBatch consecutive blocks and the largest magnitude of each, where more than one at a time helps; and
// poison(in, absmax, block): one block whose absmax is infinite or NaN.
template <class Block> struct Ggml {
  static void decode_range(const Format&, const void* storage, Geometry, int64_t begin, int64_t end, float* out) {
    const uint8_t* block = static_cast<const uint8_t*>(storage) + begin / Block::kSize * Block::kBytes;
    for (int64_t i = begin; i < end; block += Block::kBytes) {
      const int64_t start = i / Block::kSize * Block::kSize, stop = start + Block::kSize < end ? start + Block::kSize : end;
      if (stop - i == Block::kSize) {
        Block::decode(block, out);
      } else {
        alignas(64) float whole[Block::kSize];
        Block::decode(block, whole);
        for (int64_t j = i; j < stop; ++j) out[j - i] = whole[j - start];
      }
      out += stop - i;
      i = stop;
    }
  }

  static void encode_all(const Format&, const float* in, void* storage, Geometry g, const Round&) {
    constexpr int64_t kBatch = Block::kBatch, kGrain = Block::kSize == kSuper ? 4096 : 16384;
    uint8_t* base = static_cast<uint8_t*>(storage);
    const int64_t blocks = g.rows * g.cols / Block::kSize;
    parallel_for((blocks + kBatch - 1) / kBatch, kGrain / (Block::kSize * kBatch), [&](int64_t begin, int64_t end) {
      const int64_t last = end * kBatch < blocks ? end * kBatch : blocks;
      for (int64_t b = begin * kBatch; b < last; b += kBatch)
        encode_batch(in + b * Block::kSize, last - b < kBatch ? last - b : kBatch, base + b * Block::kBytes);
    });
  }

 private:
  static void encode_batch(const float* in, int64_t count, uint8_t* blocks) {
    float absmax[Block::kBatch];
    int64_t sound = 0;
    for (int64_t i = 0; i < count; ++i) {
      absmax[i] = absmax_of(in + i * Block::kSize, Block::kSize);
      sound += finite(absmax[i]);
    }
    if (sound == count) return Block::encode(in, count, absmax, blocks);
    for (int64_t i = 0; i < count; ++i)
      if (finite(absmax[i]))
        Block::encode(in + i * Block::kSize, 1, absmax + i, blocks + i * Block::kBytes);
      else
        Block::poison(in + i * Block::kSize, absmax[i], blocks + i * Block::kBytes);
  }
};

// The codes of a poisoned block: low, zero and high stand for -infinity, finite and +infinity.
inline void poison_codes(const float* in, int64_t n, int low, int zero, int high, uint8_t* codes) {
  for (int64_t i = 0; i < n; ++i) {
    const bool infinite = (float_bits(in[i]) & kAbsMask) == kInfBits;
    codes[i] = uint8_t(!infinite ? zero : in[i] > 0 ? high : low);
  }
}
// The same for codes without sign, 1 for an infinity: gives the scale, NaN if there is none that serves.
inline float poison_unsigned(const float* in, int64_t n, uint8_t* codes) {
  bool nan = false, up = false, down = false;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t u = float_bits(in[i]), size = u & kAbsMask;
    nan |= size > kInfBits;
    up |= u == kInfBits;
    down |= u == (kInfBits | kSignBit);
    codes[i] = size == kInfBits;
  }
  return nan || (up && down) ? kNaN : up ? bits_float(kInfBits) : -bits_float(kInfBits);
}

// The first x of the largest magnitude; of zeros +0, whatever their signs.
inline float first_largest(const float* in, int64_t n, float absmax) {
  if (absmax == 0) return 0;
  const VF largest = hn::Set(kF32, absmax);
  for (int64_t i = 0; i < n; i += kGgmlBlock) {
    uint32_t equal = 0;
    for (int64_t j = 0; j < kGgmlBlock; j += kLanes)
      equal |= mask_bits(hn::Eq(hn::Abs(hn::LoadU(kF32, in + i + j)), largest)) << j;
    if (equal) return in[i + __builtin_ctz(equal)];
  }
  return 0;
}

// out[i] = codes[i] * scale, n a multiple of 16.
inline void scale_codes(const int8_t* codes, int64_t n, float scale, float* out) {
  constexpr hn::Rebind<int8_t, I32> bytes{};
  const VF s = hn::Set(kF32, scale);
  for (int64_t i = 0; i < n; i += kLanes)
    hn::StoreU(hn::Mul(hn::ConvertTo(kF32, hn::PromoteTo(kI32, hn::LoadU(bytes, codes + i))), s), kF32, out + i);
}
// out[i] = codes[i] * scale + offset.
inline void scale_codes(const uint8_t* codes, int64_t n, float scale, float offset, float* out) {
  constexpr hn::Rebind<uint8_t, I32> bytes{};
  const VF s = hn::Set(kF32, scale), o = hn::Set(kF32, offset);
  for (int64_t i = 0; i < n; i += kLanes)
    hn::StoreU(hn::Add(hn::Mul(hn::ConvertTo(kF32, hn::PromoteTo(kI32, hn::LoadU(bytes, codes + i))), s), o), kF32, out + i);
}

// What every format here says alike.
constexpr FormatDef ggml_format(const char* name, const char* doc, int bits, int32_t block, int32_t bytes) {
  return {
      .name = name,
      .doc = doc,
      .kind = Kind::scaled,
      .compute = Compute::f32,
      .bits = bits,
      .defaults = {.granularity = Granularity::group, .block = block, .scale = &detail::f16},
      .block_bytes = bytes,
      .planes = ggml_planes,
  };
}
template <class Block> constexpr FormatDef ggml_decoded(const char* name, const char* doc, int bits, const char* instead) {
  FormatDef def = ggml_format(name, doc, bits, Block::kSize, Block::kBytes);
  def.decode_range = Ggml<Block>::decode_range;
  def.instead = instead;
  return def;
}
template <class Block> constexpr FormatDef ggml_encoded(const char* name, const char* doc, int bits) {
  FormatDef def = ggml_format(name, doc, bits, Block::kSize, Block::kBytes);
  def.decode_range = Ggml<Block>::decode_range;
  def.encode_all = Ggml<Block>::encode_all;
  return def;
}

}  // namespace dyadic::DY_ISA
