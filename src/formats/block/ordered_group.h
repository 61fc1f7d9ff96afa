// Integers of 2, 3, 4 or 8 bits as in int_group.h, but that a group is not a run of columns: "g_idx" says of each column which
// group it is of, the same in all rows. GPTQ with act-order quantizes columns by their importance, and groups them so. Only
// decoded: codes come from files.
#pragma once
#include "formats/bitstream.h"
#include "formats/block/group.h"

namespace dyadic::DY_ISA {

template <int kBits> struct OrderedGroup {
  static void decode_range(const Format& f, const void* storage, Geometry g, int64_t begin, int64_t end, float* out) {
    const MoreLayout l = more_layout(f, g);
    const uint8_t* base = static_cast<const uint8_t*>(storage);
    const auto* group = reinterpret_cast<const int32_t*>(base + l.more);
    const auto* zeros = l.zeros < 0 ? nullptr : reinterpret_cast<const int8_t*>(base + l.zeros);
    for_rows(l, begin, end, [&](int64_t row, int64_t col, int64_t stop) {
      uint8_t bytes[kRowChunk + kCodeRoom];
      const uint8_t* codes = code_bytes<kBits>(base + l.codes + row * l.pitch, col, stop - col, bytes);
      for (int64_t i = 0; i < stop - col; ++i) {
        const int64_t scale = row * l.groups + (uint32_t(group[col + i]) < l.groups ? group[col + i] : 0);  // a file may lie
        *out++ = float(value(codes[i]) - (zeros ? zeros[scale] : 0)) * load_scale(l, base, scale);
      }
    });
  }
  static double decode1(const Format&, uint64_t code) { return value(uint8_t(code)); }

  static constexpr FormatDef format(const char* name, const char* doc) {
    return {
        .name = name,
        .doc = doc,
        .kind = Kind::scaled,
        .compute = Compute::f32,
        .bits = kBits,
        .max = (1 << (kBits - 1)) - 1,
        .defaults = {.granularity = Granularity::group, .block = 128, .scale = &detail::f16},
        .options = kGroup | kZero | kScale,
        .block_step = 2,
        .instead = kBits > 4 ? "i8(group=128)" : "i4(group=128)",
        .planes = ordered_planes,
        .decode_range = decode_range,
        .decode1 = decode1,
    };
  }

 private:
  static int value(uint8_t code) { return int(code ^ (1u << (kBits - 1))) - (1 << (kBits - 1)); }
};

}  // namespace dyadic::DY_ISA
