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
  static void decode_range(const Format& f, const void* storage, Geometry g, int64_t begin, int64_t end, float* out) {
    const GroupLayout l = group_layout(f, g);
    const uint8_t* base = static_cast<const uint8_t*>(storage);
    const float whole = tensor_scale(l, base);
    for_rows(l, begin, end, [&](int64_t row, int64_t col, int64_t stop) {
      uint8_t bytes[kRowChunk + kCodeRoom];
      const uint8_t* codes = code_bytes<E::kBits>(base + l.codes + row * l.pitch, col, stop - col, bytes);
      float scales[kRowChunk + kLanes];
      const int64_t first_scale = load_scales(l, base, row, col, stop, whole, scales);
      for_runs(l, row, col, stop, [&](int64_t at, int64_t first, int64_t last) {
        decode_codes(codes + (first - col), last - first, scales[at - first_scale], out);
        out += last - first;
      });
    });
  }

  static void encode_all(const Format& f, const float* in, void* storage, Geometry g, const Round&) {
    const GroupLayout l = group_layout(f, g);
    uint8_t* base = static_cast<uint8_t*>(storage);
    const int64_t numel = l.rows * l.cols;
    if (f.params.granularity == Granularity::tensor) {
      Scales scales{};
      scales.value[0] = measure(l, bits_absmax(largest(in, numel, false)), 1);
      store_scale(l, base, 0, scales.value[0]);
      invert(scales);
      parallel_for(l.rows, 16384 / (l.cols + 1) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) encode_row(l, in, base, row, 0, l.cols, 0, scales);
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
      int64_t top = begin / l.groups * l.band, group = begin % l.groups;
      for (int64_t s = begin; s < end;) {
        const int64_t row_left = l.groups - group, left = end - s < row_left ? end - s : row_left;
        const int64_t count = left < kBatch ? left : kBatch;
        encode_tiles(l, in, base, top, group, count, whole);
        s += count;
        group += count;
        if (group == l.groups) group = 0, top += l.band;
      }
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
      const int64_t first = begin * kPart, last = end * kPart < numel ? end * kPart : numel;
      const uint32_t mine = only_finite ? finite_absmax_bits(in + first, last - first) : absmax_bits(in + first, last - first);
      raise(&best, mine);
    });
    return best;
  }

  static constexpr int32_t kTop = int32_t(float_bits(E::kLargest) >> 23);
  static constexpr int64_t kBatch = 16;  // tiles whose scales are computed together
  struct Scales {
    alignas(64) float value[kBatch], inverse[kBatch], lift[kBatch];
    bool infinite;  // one of them
  };

  // `count` tiles beside each other, the first at row `top`.
  static void encode_tiles(const GroupLayout& l, const float* in, uint8_t* base, int64_t top, int64_t group, int64_t count,
                           float whole) {
    const int64_t end = top + l.band < l.rows ? top + l.band : l.rows, s = scale_at(l, top, group);
    const int64_t from = group * l.group, to = from + count * l.group < l.cols ? from + count * l.group : l.cols;
    Scales scales{};
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = from + i * l.group, n = first + l.group < to ? l.group : to - first;
      uint32_t most = 0;
      for (int64_t row = top; row < end; ++row) {
        const uint32_t u = absmax_bits(in + row * l.cols + first, n);
        most = most > u ? most : u;
      }
      scales.value[i] = bits_absmax(most);
    }
    if (l.scale == ScaleType::e4m3 || l.scale == ScaleType::e8m0)
      measure_bytes(l.scale, scales.value, count, whole, base + l.scales + s);
    else
      for (int64_t i = 0; i < count; ++i) store_scale(l, base, s + i, scales.value[i] = measure(l, scales.value[i], whole));
    invert(scales);
    for (int64_t row = top; row < end; ++row) encode_row(l, in, base, row, from, to, s, scales);
  }
  // measure() and store_scale() of a batch of largest magnitudes, which become the scales times `whole`.
  static void measure_bytes(ScaleType type, float* values, int64_t count, float whole, uint8_t* stored) {
    uint8_t codes[kBatch];
    const VF by = hn::Set(kF32, whole);
    for (int64_t i = 0; i < kBatch; i += kLanes) {
      const VF absmax = hn::Load(kF32, values + i);
      const auto poisoned = hn::Not(hn::Lt(absmax, hn::Set(kF32, bits_float(kInfBits))));
      VI code;
      VF value;
      if (type == ScaleType::e8m0) {
        const VI exponent = hn::ShiftRight<23>(hn::BitCast(kI32, absmax)), lower = hn::Set(kI32, kTop - 127);
        code = hn::Max(hn::Sub(exponent, lower), hn::Zero(kI32));
        code = hn::IfThenElse(hn::RebindMask(kI32, poisoned), hn::Set(kI32, 255), code);
        const VI bits = hn::IfThenElse(hn::Eq(code, hn::Zero(kI32)), hn::Set(kI32, 1 << 22), hn::ShiftLeft<23>(code));
        value = hn::IfThenElse(poisoned, hn::Set(kF32, kNaN), hn::BitCast(kF32, bits));
      } else {
        const VF ratio = hn::Div(hn::Div(absmax, hn::Set(kF32, E::kLargest)), by);
        const VF wanted = hn::IfThenElse(poisoned, hn::Set(kF32, kNaN), whole > 0 ? ratio : hn::Zero(kF32));
        code = E4m3::nearest_codes(wanted, int32_t(E4m3::kLargest));
        value = hn::Mul(E4m3::values(code), by);
      }
      store_bytes(code, codes + i);
      hn::Store(value, kF32, values + i);
    }
    __builtin_memcpy(stored, codes, size_t(count));
  }
  // An element becomes the code of x * lift * inverse, but for infinite scales: Note [Poisoned blocks].
  static void invert(Scales& s) {
    const VF one = hn::Set(kF32, 1.0f), zero = hn::Zero(kF32);
    s.infinite = false;
    for (int64_t i = 0; i < kBatch; i += kLanes) {
      const VF scale = hn::Load(kF32, s.value + i);
      s.infinite |= mask_bits(hn::Eq(scale, hn::Set(kF32, bits_float(kInfBits)))) != 0;
      const auto positive = hn::Gt(scale, zero), tiny = hn::And(positive, hn::Lt(scale, hn::Set(kF32, kTiny)));
      const VF lift = hn::IfThenElse(tiny, hn::Set(kF32, kLift), one);
      const VF others = hn::IfThenElse(hn::Eq(scale, zero), zero, hn::Set(kF32, kNaN));
      hn::Store(lift, kF32, s.lift + i);
      hn::Store(hn::IfThenElse(positive, hn::Div(one, hn::Mul(scale, lift)), others), kF32, s.inverse + i);
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

  // Columns [from, to) of a row, from a byte boundary on; the first of `scales` is scale number s.
  static void encode_row(const GroupLayout& l, const float* in, uint8_t* base, int64_t row, int64_t from, int64_t to, int64_t s,
                         const Scales& scales) {
    const float* x = in + row * l.cols;
    uint8_t* codes = base + l.codes + row * l.pitch;
    for (int64_t col = from; col < to; col += kRowChunk) {
      const int64_t stop = col + kRowChunk < to ? col + kRowChunk : to;
      uint8_t bytes[kRowChunk], *out = E::kBits < 8 ? bytes : codes + col;
      for_runs(l, row, col, stop, [&](int64_t at, int64_t first, int64_t last) {
        const int64_t k = at - s;
        encode_codes(x + first, last - first, scales.inverse[k], scales.lift[k], out + (first - col));
      });
      if (scales.infinite) {
        for_runs(l, row, col, stop, [&](int64_t at, int64_t first, int64_t last) {
          if (scales.value[at - s] == bits_float(kInfBits)) encode_infinite(x + first, last - first, out + (first - col));
        });
      }
      if constexpr (E::kBits < 8) pack_bits<E::kBits>(bytes, stop - col, codes + col * E::kBits / 8);
    }
  }
  // n codes, a byte each.
  [[gnu::noinline]] static void encode_infinite(const float* x, int64_t n, uint8_t* codes) {
    for (int64_t j = 0; j < n; ++j) codes[j] = (float_bits(x[j]) & kAbsMask) == kInfBits ? E::code(x[j]) : E::kZero;
  }
  [[gnu::always_inline]] static void encode_codes(const float* x, int64_t n, float inverse, float lift, uint8_t* out) {
    const VF a = hn::Set(kF32, lift), b = hn::Set(kF32, inverse);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store_bytes(E::codes(hn::Mul(hn::Mul(hn::LoadU(kF32, x + i), a), b)), out + i);
    for (; i < n; ++i) out[i] = E::code(x[i] * lift * inverse);
  }
};

}  // namespace dyadic::DY_ISA
