// Unsigned integers of 2, 3, 4, 6 or 8 bits with a scale and an offset for each group of a row's elements, numbers of one float
// type: w = code scale + offset, the product exact in f32 where scales have 16 bits, the sum rounded once. MLX's "affine"
// quantization. Only decoded: codes come from files. Codes: row by row, each row on whole bytes, a bitstream (bitstream.h).
#pragma once
#include "formats/bitstream.h"
#include "formats/block/group.h"

namespace dyadic::DY_ISA {

template <int kBits> struct OffsetGroup {
  static void decode_range(const Format& f, const void* storage, Geometry g, int64_t begin, int64_t end, float* out) {
    const MoreLayout l = more_layout(f, g);
    const uint8_t* base = static_cast<const uint8_t*>(storage);
    GroupLayout offsets = l;
    offsets.scales = l.more;
    for_rows(l, begin, end, [&](int64_t row, int64_t col, int64_t stop) {
      uint8_t bytes[kRowChunk + kCodeRoom];
      const uint8_t* codes = code_bytes<kBits>(base + l.codes + row * l.pitch, col, stop - col, bytes);
      for_runs(l, row, col, stop, [&](int64_t at, int64_t first, int64_t last) {
        decode_run(codes + (first - col), last - first, load_scale(l, base, at), load_scale(offsets, base, at), out);
        out += last - first;
      });
    });
  }
  static double decode1(const Format&, uint64_t code) { return double(code & ((1u << kBits) - 1)); }

  static constexpr FormatDef format(const char* name, const char* doc) {
    return {
        .name = name,
        .doc = doc,
        .kind = Kind::scaled,
        .compute = Compute::f32,
        .bits = kBits,
        .max = (1 << kBits) - 1,
        .defaults = {.granularity = Granularity::group, .block = 64, .scale = &detail::f16},
        .options = kRow | kGroup | kScale,
        .block_step = 2,
        .instead = kBits > 4 ? "i8(group=64,zero)" : "i4(group=64,zero)",
        .planes = offset_planes,
        .decode_range = decode_range,
        .decode1 = decode1,
    };
  }

 private:
  static void decode_run(const uint8_t* codes, int64_t n, float scale, float offset, float* out) {
    constexpr hn::Rebind<uint8_t, I32> bytes{};
    const VF by = hn::Set(kF32, scale), plus = hn::Set(kF32, offset);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      const VF code = hn::ConvertTo(kF32, hn::PromoteTo(kI32, hn::LoadU(bytes, codes + i)));
      hn::StoreU(hn::Add(hn::Mul(code, by), plus), kF32, out + i);
    }
    for (; i < n; ++i) out[i] = float(codes[i]) * scale + offset;
  }
};

}  // namespace dyadic::DY_ISA
