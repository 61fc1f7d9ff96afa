// dynamic8 and udynamic8 as dtypes: flat blocks over storage order, one f32 absmax each (bitsandbytes' quantize_blockwise). The
// code itself is dynamic8.h's.
#pragma once
#include "base/parallel.h"
#include "formats/block/dynamic8.h"
#include "formats/layout.h"

namespace dyadic::DY_ISA {

template <bool kSigned> struct DynamicFlat {
  static void decode_range(const Format& f, const void* storage, Geometry g, int64_t begin, int64_t end, float* out) {
    const FlatLayout l = flat_layout(f, g);
    const uint8_t* base = static_cast<const uint8_t*>(storage);
    const float* absmax = reinterpret_cast<const float*>(base + l.absmax);
    int64_t block = begin / l.block;
    for (int64_t i = begin; i < end; ++block) {
      int64_t stop = (block + 1) * l.block;
      stop = stop < end ? stop : end;
      Dynamic8<kSigned>::decode(base + l.codes + i, absmax[block], out, stop - i);
      out += stop - i;
      i = stop;
    }
  }
  static void encode_all(const Format& f, const float* in, void* storage, Geometry g, const Round&) {
    const FlatLayout l = flat_layout(f, g);
    uint8_t* base = static_cast<uint8_t*>(storage);
    float* absmax = reinterpret_cast<float*>(base + l.absmax);
    parallel_for(l.blocks, 16384 / l.block + 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b * l.block, n = first + l.block < l.numel ? l.block : l.numel - first;
        absmax[b] = Dynamic8<kSigned>::encode_block(in + first, base + l.codes + first, n);
      }
    });
  }
  static double decode1(const Format&, uint64_t code) { return Dynamic8<kSigned>::kTables.value[code & 255]; }
  static uint64_t encode1(const Format&, double value) { return dynamic_code<kSigned>(float(value)); }
};

template <bool kSigned> constexpr FormatDef dynamic_format(const char* name, const char* doc) {
  return {
      .name = name,
      .doc = doc,
      .kind = Kind::scaled,
      .compute = Compute::f32,
      .bits = 8,
      .max = 1,
      .defaults = {.granularity = Granularity::flat, .block = 256, .scale = &detail::f32},
      .options = kBlock,
      .planes = flat_planes,
      .decode_range = DynamicFlat<kSigned>::decode_range,
      .encode_all = DynamicFlat<kSigned>::encode_all,
      .decode1 = DynamicFlat<kSigned>::decode1,
      .encode1 = DynamicFlat<kSigned>::encode1,
  };
}

}  // namespace dyadic::DY_ISA
