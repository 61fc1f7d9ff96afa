// Integers of 8, 4, 3 or 2 bits with a scale per row, tensor or group of a row's elements. Symmetric: scale = absmax / 127 (/
// 7, / 3, / 1), codes -127 .. 127 (-7 .. 7, ...); with `zero`: scale = (max - min) / 255 (/ 15, ...) over a range that includes
// 0, and a zero point that is itself a code, so that 0 stays exact. The scale is rounded to its type first; then each element
// takes the code nearest to x * (1 / scale), ties to even. A scale that overflows its type counts as infinite: Note [Poisoned
// blocks]. Codes: two's complement, row by row, each row on whole bytes; of two 4-bit codes the first is in the low nibble.
#pragma once
#include "base/parallel.h"
#include "formats/bitstream.h"
#include "formats/block/group.h"
#include "formats/block/nibbles.h"

namespace dyadic::DY_ISA {

struct Step {  // what one scale means
  float scale;
  int32_t zero;
};

template <int kBits> struct IntGroup {
  static constexpr int kLow = -(1 << (kBits - 1)), kHigh = -kLow - 1;
  static constexpr int64_t kTile = 256;
  static constexpr float kCodes[16] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};  // of 4 bits

  static void decode_range(const Format& f, const void* storage, Geometry g, int64_t begin, int64_t end, float* out) {
    const GroupLayout l = group_layout(f, g);
    const uint8_t* base = static_cast<const uint8_t*>(storage);
    for_rows(l, begin, end, [&](int64_t row, int64_t col, int64_t stop) {
      const uint8_t* codes = base + l.codes + row * l.pitch;
      uint8_t bytes[kRowChunk + kCodeRoom];
      if constexpr (kBits < 4) unpack_bits<kBits>(codes, col, stop - col, bytes);
      for_runs(l, row, col, stop, [&](int64_t scale, int64_t first, int64_t last) {
        const Step step = load_step(l, base, scale);
        if constexpr (kBits == 4)
          decode_pairs(codes, first, last, step, out);
        else
          decode_bytes(kBits < 4 ? bytes + (first - col) : codes + first, last - first, step, out);
        out += last - first;
      });
    });
  }

  static void encode_all(const Format& f, const float* in, void* storage, Geometry g, const Round&) {
    const GroupLayout l = group_layout(f, g);
    uint8_t* base = static_cast<uint8_t*>(storage);
    if (f.params.granularity == Granularity::tensor) return encode_tensor(l, in, base);
    const int64_t grain = 16384 / l.group + 1;
    parallel_for(l.rows * l.groups, grain, [&](int64_t begin, int64_t end) {
      int64_t row = begin / l.groups, first = begin % l.groups * l.group;
      for (int64_t s = begin; s < end; ++s) {
        const int64_t n = first + l.group < l.cols ? l.group : l.cols - first;
        const float* x = in + row * l.cols + first;
        const Step step = measure(l, x, n);
        store_step(l, base, s, step);
        encode_run(l, x, n, step, base + l.codes + row * l.pitch + first * kBits / 8);
        first += l.group;
        if (first >= l.cols) first = 0, ++row;
      }
    });
  }

  static double decode1(const Format&, uint64_t code) {
    const int c = int(code & ((1u << kBits) - 1));
    return c > kHigh ? c - (1 << kBits) : c;
  }
  static uint64_t encode1(const Format& f, double value) {
    const float x = float(value);
    const float low = f.params.zero ? kLow : -kHigh;
    const float clamped = x < low ? low : x > kHigh ? float(kHigh) : x;
    const float shifted = clamped + 0x1.8p23f;  // the adder rounds to integers, ties to even
    return uint64_t(int64_t(shifted - 0x1.8p23f)) & ((1u << kBits) - 1);
  }

 private:
  // Codes [begin, end) of a row.
  static void decode_pairs(const uint8_t* codes, int64_t begin, int64_t end, Step step, float* out) {
    alignas(64) float table[16];
    const VF zero = hn::Set(kF32, float(step.zero)), scale = hn::Set(kF32, step.scale);
    for (int64_t k = 0; k < 16; k += kLanes)
      hn::Store(hn::Mul(hn::Sub(hn::LoadU(kF32, kCodes + k), zero), scale), kF32, table + k);
    decode_nibbles<Order::low_first>(codes, begin, end, table, out);
  }
  // n codes, a byte each.
  static void decode_bytes(const uint8_t* codes, int64_t n, Step step, float* out) {
    const VF scale = hn::Set(kF32, step.scale);
    const VI zero = hn::Set(kI32, step.zero);
    constexpr hn::Rebind<int8_t, I32> bytes{};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      VI code = hn::PromoteTo(kI32, hn::LoadU(bytes, reinterpret_cast<const int8_t*>(codes) + i));
      if constexpr (kBits < 8) code = hn::ShiftRight<32 - kBits>(hn::ShiftLeft<32 - kBits>(code));
      hn::StoreU(hn::Mul(hn::ConvertTo(kF32, hn::Sub(code, zero)), scale), kF32, out + i);
    }
    for (; i < n; ++i) out[i] = float((codes[i] > kHigh ? codes[i] - (1 << kBits) : codes[i]) - step.zero) * step.scale;
  }

  static Step load_step(const GroupLayout& l, const uint8_t* base, int64_t at) {
    return {load_scale(l, base, at), l.zeros >= 0 ? reinterpret_cast<const int8_t*>(base + l.zeros)[at] : 0};
  }
  static void store_step(const GroupLayout& l, uint8_t* base, int64_t at, Step step) {
    store_scale(l, base, at, step.scale);
    if (l.zeros >= 0) reinterpret_cast<int8_t*>(base + l.zeros)[at] = int8_t(step.zero);
  }
  static float round_scale(const GroupLayout& l, float scale) {
    if (l.scale == ScaleType::f16) return f16_value(f16_nearest(scale));
    if (l.scale == ScaleType::bf16) return bf16_value(bf16_nearest(scale));
    return scale;
  }

  static Step measure(const GroupLayout& l, const float* x, int64_t n) {
    const float absmax = bits_absmax(absmax_bits(x, n));
    if (l.zeros < 0 || !finite(absmax)) return symmetric(l, absmax);
    VF low = hn::Zero(kF32), high = low;
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      const VF v = hn::LoadU(kF32, x + i);
      low = hn::Min(low, v);
      high = hn::Max(high, v);
    }
    float least = hn::GetLane(hn::MinOfLanes(kF32, low)), most = hn::GetLane(hn::MaxOfLanes(kF32, high));
    for (; i < n; ++i) {
      least = x[i] < least ? x[i] : least;
      most = x[i] > most ? x[i] : most;
    }
    return affine(l, least, most);
  }
  static Step symmetric(const GroupLayout& l, float absmax) { return {round_scale(l, absmax / kHigh), 0}; }
  // least <= 0 <= most. Halves first: their difference may overflow.
  static Step affine(const GroupLayout& l, float least, float most) {
    const float scale = round_scale(l, (most * 0.5f - least * 0.5f) / ((kHigh - kLow) * 0.5f));
    if (!(scale > 0) || !finite(scale)) return {scale, 0};
    const float zero = float(kLow) - (scale < kTiny ? least * kLift / (scale * kLift) : least / scale);
    const float clamped = zero < kLow ? float(kLow) : zero > kHigh ? float(kHigh) : zero;
    return {scale, int32_t(clamped + 0x1.8p23f - 0x1.8p23f)};
  }

  // One scale for everything: the maxima of any cut combine to the same, as integers (with a zero point: two of them).
  static void encode_tensor(const GroupLayout& l, const float* in, uint8_t* base) {
    constexpr int64_t kChunk = 16384;
    const int64_t numel = l.rows * l.cols;
    uint32_t positive = 0, negative = 0;  // bit patterns of the largest magnitude on either side
    parallel_for((numel + kChunk - 1) / kChunk, 4, [&](int64_t begin, int64_t end) {
      uint32_t up = 0, down = 0;
      const int64_t last = end * kChunk < numel ? end * kChunk : numel;
      for (int64_t i = begin * kChunk; i < last; ++i) {
        const uint32_t u = float_bits(in[i]), size = u & kAbsMask;
        const uint32_t plus = u & kSignBit ? 0 : size, minus = u & kSignBit ? size : 0;
        up = up > plus ? up : plus;
        down = down > minus ? down : minus;
      }
      raise(&positive, up);
      raise(&negative, down);
    });
    const float most = bits_absmax(positive), least = -bits_absmax(negative);
    const float absmax = bits_absmax(positive > negative ? positive : negative);
    const Step step = l.zeros < 0 || !finite(absmax) ? symmetric(l, absmax) : affine(l, least, most);
    store_step(l, base, 0, step);
    parallel_for(l.rows, 16384 / (l.cols + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        encode_run(l, in + row * l.cols, l.cols, step, base + l.codes + row * l.pitch);
    });
  }
  // n codes from a byte boundary on.
  static void encode_run(const GroupLayout& l, const float* x, int64_t n, Step step, uint8_t* codes) {
    const int lowest = l.zeros >= 0 ? kLow : -kHigh;
    if (step.scale >= kTiny && finite(step.scale)) return encode_codes(x, n, step, lowest, codes);
    encode_rare(x, n, step, lowest, codes);
  }
  static void encode_codes(const float* x, int64_t n, Step step, int lowest, uint8_t* codes) {
    const VF inverse = hn::Set(kF32, 1.0f / step.scale);
    const VI zero = hn::Set(kI32, step.zero), low = hn::Set(kI32, lowest), high = hn::Set(kI32, kHigh);
    auto code = [&](VF v) { return hn::Min(hn::Max(hn::Add(nearest(hn::Mul(v, inverse)), zero), low), high); };
    if constexpr (kBits == 4) {
      encode_nibbles<Order::low_first>(x, n, codes, [&](VF v) { return hn::And(code(v), hn::Set(kI32, 15)); });
    } else if constexpr (kBits < 4) {
      for (int64_t i = 0; i < n; i += kTile) {
        const int64_t m = n - i < kTile ? n - i : kTile;
        uint8_t tile[kTile];
        alignas(64) float rest[kLanes] = {};
        for (int64_t j = 0; j < m; j += kLanes) {
          const bool full = j + kLanes <= m;
          if (!full) __builtin_memcpy(rest, x + i + j, size_t(m - j) * 4);
          store_bytes(hn::And(code(full ? hn::LoadU(kF32, x + i + j) : hn::Load(kF32, rest)), hn::Set(kI32, (1 << kBits) - 1)),
                      tile + j);
        }
        pack_bits<kBits>(tile, m, codes + i * kBits / 8);
      }
    } else {
      constexpr hn::Rebind<int8_t, I32> bytes{};
      int64_t i = 0;
      for (; i + kLanes <= n; i += kLanes)
        hn::StoreU(hn::DemoteTo(bytes, code(hn::LoadU(kF32, x + i))), bytes, reinterpret_cast<int8_t*>(codes) + i);
      if (i == n) return;
      alignas(64) float rest[kLanes] = {};
      int8_t got[kLanes];
      for (int64_t j = i; j < n; ++j) rest[j - i] = x[j];
      hn::StoreU(hn::DemoteTo(bytes, code(hn::Load(kF32, rest))), bytes, got);
      for (int64_t j = i; j < n; ++j) codes[j] = uint8_t(got[j - i]);
    }
  }
  // Scales that are zero, tiny or not finite.
  [[gnu::noinline]] static void encode_rare(const float* x, int64_t n, Step step, int lowest, uint8_t* codes) {
    const bool tiny = step.scale > 0 && finite(step.scale);
    for (int64_t i = 0; i < n; i += kTile) {
      const int64_t m = n - i < kTile ? n - i : kTile;
      if (tiny) {
        alignas(64) float lifted[kTile];
        for (int64_t j = 0; j < m; ++j) lifted[j] = x[i + j] * kLift;
        encode_codes(lifted, m, {step.scale * kLift, step.zero}, lowest, codes + i * kBits / 8);
      } else {
        uint8_t tile[kTile];
        for (int64_t j = 0; j < m; ++j) {
          const bool infinite = (float_bits(x[i + j]) & kAbsMask) == kInfBits;
          tile[j] = uint8_t((!infinite ? step.zero : x[i + j] > 0 ? kHigh : lowest) & ((1 << kBits) - 1));
        }
        if constexpr (kBits == 4) {
          pack_nibbles<Order::low_first>(tile, m, codes + i / 2, 0);
        } else if constexpr (kBits < 4) {
          pack_bits<kBits>(tile, m, codes + i * kBits / 8);
        } else {
          __builtin_memcpy(codes + i, tile, size_t(m));
        }
      }
    }
  }
};

}  // namespace dyadic::DY_ISA
