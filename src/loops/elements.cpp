#include "loops/elements.h"

#include <algorithm>

#include "loops/strided_copy_kernel.h"

namespace dyadic::inline v1::tiles {

const void* load(const Format& f, const char* stored, Compute compute, char* tile, char* other, int64_t n) {
  if (stored_as(f, compute)) return stored;
  if (f.compute() == compute) {
    f.def->decode(stored, tile, n);
    return tile;
  }
  const void* own = stored;
  if (!stored_as(f, f.compute())) f.def->decode(stored, other, n), own = other;
  convert_compute(f.compute(), own, compute, tile, n);
  return tile;
}

void store(const Format& f, const void* tile, Compute compute, bool mask, char* stored, char* other, int64_t n) {
  if (mask) {
    convert(*boolean.format(), tile, f, stored, n);
    return;
  }
  if (f.compute() != compute) {
    bool narrow = f.compute() == Compute::f32 && f.def->bits < 32;
    convert_compute(compute, tile, f.compute(), other, n, narrow);
    tile = other;
  }
  f.def->encode(tile, stored, n, Round{});
}

void splat(const Format& f, const char* stored, Compute compute, char* tile, int64_t n) {
  if (compute == Compute::f32 && stored_as(f, Compute::f64)) {  // a number
    const float value = float(*reinterpret_cast<const double*>(stored));
    if (n <= 16)
      std::fill_n(reinterpret_cast<float*>(tile), n, value);
    else
      strided_copy_kernel().splat(tile, reinterpret_cast<const char*>(&value), n, sizeof(float));
    return;
  }
  alignas(16) char one[16], other[16];
  const void* value = load(f, stored, compute, one, other, 1);
  strided_copy_kernel().splat(tile, static_cast<const char*>(value), n, compute_size(compute));
}

Tile stored_tile(const Elementwise& e, const Format* f) {
  if (f == bf16.format()) return e.bf16_tile;
  if (!e.narrow_tiles) return nullptr;
  return f == u8.format()    ? e.narrow_tiles[kU8]
         : f == i8.format()  ? e.narrow_tiles[kI8]
         : f == i16.format() ? e.narrow_tiles[kI16]
                             : nullptr;
}

const Format* stored_format(const Elementwise& e, bool direct, const Format* const* formats, unsigned singles, int inputs) {
  const Format* f = e.mask_out ? nullptr : formats[inputs];
  bool some = false, others = false;
  for (int i = 0; i < inputs; ++i) {
    if (!formats[i] || (singles >> i & 1)) continue;
    if (!f) f = formats[i];
    (formats[i] == f ? some : others) = true;
  }
  if (!some || !f || !stored_tile(e, f) || (e.mask_out && !direct)) return nullptr;
  return others && f != bf16.format() ? nullptr : f;
}

}  // namespace dyadic::inline v1::tiles
