// Floats (and mxint8's fixed-point numbers) of 8, 6 or 4 bits with a scale per tensor, row, group of a row's elements or tile
// of rows and columns. A code stands for value(code) * scale, rounded to nearest even from x * (1 / scale) and saturated.
// Scales:
//   f32, f16, bf16  absmax / (largest code), so that the largest element fits exactly
//   e8m0            2^(floor(log2 absmax) - exponent of the largest code), within 2^-127 .. 2^127 (OCP MX, 2023, section 6.3)
//   e4m3            absmax / (largest code) / t, where t = absmax of the finite elements of the tensor / (largest code * 448)
//   is the
//                   tensor's scale; a code stands for value(code) * (scale * t)
// Note [Poisoned blocks] holds; e8m0 and e4m3 have no infinity, so infinities make their block NaN there. Codes: row by row,
// each row on whole bytes, a bitstream (bitstream.h).
#pragma once
#include "base/parallel.h"
#include "formats/bitstream.h"
#include "formats/block/group.h"

namespace dyadic::DY_ISA {

inline constexpr Params kByRow = {.granularity = Granularity::row, .scale = &detail::f32};
inline constexpr Params kMx = {.granularity = Granularity::group, .block = 32, .scale = &detail::f8e8m0fnu};  // OCP MX
inline constexpr uint32_t kAnyGroup = kRow | kTensor | kGroup | kTiled | kScale;

// E: kBits, kLargest (the largest value), kZero (a code), values(VI), codes(VF) and their scalar forms value(), code(); a NaN
// may become any code.
template <class E> struct FloatGroup {
  static constexpr int64_t kChunk = 256;

  static void decode_range(const Format& f, const void* storage, Geometry g, int64_t begin, int64_t end, float* out) {
    const GroupLayout l = group_layout(f, g);
    const uint8_t* base = static_cast<const uint8_t*>(storage);
    const float whole = tensor_scale(l, base);
    for_runs(l, begin, end, [&](int64_t row, int64_t group, int64_t col, int64_t stop) {
      const float scale = load_scale(l, base, scale_at(l, row, group)) * whole;
      decode_run(base + l.codes + row * l.pitch, col, stop, scale, out);
      out += stop - col;
    });
  }

  static void encode_all(const Format& f, const float* in, void* storage, Geometry g, const Round&) {
    const GroupLayout l = group_layout(f, g);
    uint8_t* base = static_cast<uint8_t*>(storage);
    const int64_t numel = l.rows * l.cols;
    if (f.params.granularity == Granularity::tensor) {
      const float scale = measure(l, bits_absmax(largest(in, numel, false)), 1);
      store_scale(l, base, 0, scale);
      parallel_for(l.rows, 16384 / (l.cols + 1) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
          encode_run(in + row * l.cols, l.cols, scale, base + l.codes + row * l.pitch);
      });
      return;
    }
    float whole = 1;
    if (l.tensor_scale >= 0) {
      whole = bits_absmax(largest(in, numel, true)) / (E::kLargest * 448.0f);
      __builtin_memcpy(base + l.tensor_scale, &whole, 4);
    }
    const int64_t bands = (l.rows + l.band - 1) / l.band;
    parallel_for(bands * l.groups, 16384 / (l.group * l.band) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t s = begin; s < end; ++s) encode_tile(l, in, base, s, whole);
    });
  }

  static double decode1(const Format&, uint64_t code) { return double(E::value(uint8_t(code))); }
  static uint64_t encode1(const Format&, double x) { return E::code(round_to_odd(x)); }

  static constexpr FormatDef format(const char* name, const char* doc, Params defaults, uint32_t options = 0) {
    return {
        .name = name,
        .doc = doc,
        .kind = Kind::scaled,
        .compute = Compute::f32,
        .bits = E::kBits,
        .max = double(E::kLargest),
        .defaults = defaults,
        .options = options,
        .planes = group_planes,
        .decode_range = decode_range,
        .encode_all = encode_all,
        .decode1 = decode1,
        .encode1 = encode1,
    };
  }

 private:
  static float tensor_scale(const GroupLayout& l, const uint8_t* base) {
    float t = 1;
    if (l.tensor_scale >= 0) __builtin_memcpy(&t, base + l.tensor_scale, 4);
    return t;
  }
  // The scale as stored.
  static float measure(const GroupLayout& l, float absmax, float whole) {
    switch (l.scale) {
      case ScaleType::f32:
        return absmax / E::kLargest;
      case ScaleType::f16:
        return f16_value(f16_nearest(absmax / E::kLargest));
      case ScaleType::bf16:
        return bf16_value(bf16_nearest(absmax / E::kLargest));
      case ScaleType::e8m0: {
        constexpr int32_t kTop = int32_t(float_bits(E::kLargest) >> 23);
        const int32_t exponent = int32_t(float_bits(absmax) >> 23) - kTop + 127;  // biased; subnormals fall below 0
        return e8m0_value(!finite(absmax) ? 255 : uint8_t(exponent < 0 ? 0 : exponent));
      }
      case ScaleType::e4m3:
        return !finite(absmax) ? kNaN : e4m3_value(e4m3_code(whole > 0 ? absmax / E::kLargest / whole : 0.0f));
    }
    return 0;
  }

  // The bit pattern of the largest magnitude; the maxima of any cut combine to the same.
  static uint32_t largest(const float* in, int64_t numel, bool only_finite) {
    constexpr int64_t kPart = 16384;
    uint32_t best = 0;
    parallel_for((numel + kPart - 1) / kPart, 4, [&](int64_t begin, int64_t end) {
      uint32_t mine = 0;
      const int64_t last = end * kPart < numel ? end * kPart : numel;
      for (int64_t i = begin * kPart; i < last; ++i) {
        const uint32_t u = float_bits(in[i]) & kAbsMask, size = only_finite && u >= kInfBits ? 0 : u;
        mine = mine > size ? mine : size;
      }
      raise(&best, mine);
    });
    return best;
  }

  static void encode_tile(const GroupLayout& l, const float* in, uint8_t* base, int64_t s, float whole) {
    const int64_t first = s % l.groups * l.group, n = first + l.group < l.cols ? l.group : l.cols - first;
    const int64_t top = s / l.groups * l.band, end = top + l.band < l.rows ? top + l.band : l.rows;
    uint32_t most = 0;
    for (int64_t row = top; row < end; ++row) {
      const uint32_t u = absmax_bits(in + row * l.cols + first, n);
      most = most > u ? most : u;
    }
    const float scale = measure(l, bits_absmax(most), whole);
    store_scale(l, base, s, scale);
    for (int64_t row = top; row < end; ++row)
      encode_run(in + row * l.cols + first, n, scale * whole, base + l.codes + row * l.pitch + first * E::kBits / 8);
  }

  // Codes [begin, end) of a row.
  static void decode_run(const uint8_t* codes, int64_t begin, int64_t end, float scale, float* out) {
    if constexpr (E::kBits == 8) {
      decode_codes(codes + begin, end - begin, scale, out);
    } else {
      uint8_t bytes[kChunk];
      for (int64_t i = begin; i < end; i += kChunk) {
        const int64_t n = end - i < kChunk ? end - i : kChunk;
        unpack_bits<E::kBits>(codes, i, n, bytes);
        decode_codes(bytes, n, scale, out + (i - begin));
      }
    }
  }
  static void decode_codes(const uint8_t* codes, int64_t n, float scale, float* out) {
    constexpr hn::Rebind<uint8_t, I32> bytes{};
    const VF s = hn::Set(kF32, scale);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      hn::StoreU(hn::Mul(E::values(hn::PromoteTo(kI32, hn::LoadU(bytes, codes + i))), s), kF32, out + i);
    for (; i < n; ++i) out[i] = E::value(codes[i]) * scale;
  }

  // n codes from a byte boundary on.
  static void encode_run(const float* x, int64_t n, float scale, uint8_t* codes) {
    const bool tiny = scale > 0 && scale < kTiny;
    const float inverse = tiny ? 1.0f / (scale * kLift) : scale > 0 ? 1.0f / scale : scale == 0 ? 0.0f : kNaN;
    uint8_t bytes[kChunk];
    for (int64_t i = 0; i < n; i += kChunk) {
      const int64_t m = n - i < kChunk ? n - i : kChunk;
      uint8_t* out = E::kBits == 8 ? codes + i : bytes;
      if (scale > 0 && !finite(scale))
        for (int64_t j = 0; j < m; ++j) out[j] = (float_bits(x[i + j]) & kAbsMask) == kInfBits ? E::code(x[i + j]) : E::kZero;
      else
        encode_codes(x + i, m, inverse, tiny ? kLift : 1.0f, out);
      if constexpr (E::kBits != 8) pack_bits<E::kBits>(bytes, m, codes + i * E::kBits / 8);
    }
  }
  static void encode_codes(const float* x, int64_t n, float inverse, float lift, uint8_t* out) {
    const VF a = hn::Set(kF32, lift), b = hn::Set(kF32, inverse);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store_bytes(E::codes(hn::Mul(hn::Mul(hn::LoadU(kF32, x + i), a), b)), out + i);
    for (; i < n; ++i) out[i] = E::code(x[i] * lift * inverse);
  }
};

}  // namespace dyadic::DY_ISA
