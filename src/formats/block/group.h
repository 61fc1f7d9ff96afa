// What the formats with a scale per tensor, row, group or tile share: how a range falls into groups, how scales are stored.
#pragma once
#include "formats/block/lanes.h"
#include "formats/layout.h"
#include "formats/scalar/f8_scales.h"

namespace dyadic::DY_ISA {

// The scale of a group of a row, counted in scales.
inline int64_t scale_at(const GroupLayout& l, int64_t row, int64_t group) {
  return l.scales_per_row ? row / l.band * l.scales_per_row + group : 0;
}
inline float load_scale(const GroupLayout& l, const uint8_t* base, int64_t at) {
  const uint8_t* scales = base + l.scales;
  switch (l.scale) {
    case ScaleType::f32:
      return reinterpret_cast<const float*>(scales)[at];
    case ScaleType::f16:
      return f16_value(reinterpret_cast<const uint16_t*>(scales)[at]);
    case ScaleType::bf16:
      return bf16_value(reinterpret_cast<const uint16_t*>(scales)[at]);
    case ScaleType::e8m0:
      return e8m0_value(scales[at]);
    case ScaleType::e4m3:
      return e4m3_value(scales[at]);
  }
  return 0;
}
inline void store_scale(const GroupLayout& l, uint8_t* base, int64_t at, float scale) {
  uint8_t* scales = base + l.scales;
  switch (l.scale) {
    case ScaleType::f32:
      reinterpret_cast<float*>(scales)[at] = scale;
      return;
    case ScaleType::f16:
      reinterpret_cast<uint16_t*>(scales)[at] = f16_nearest(scale);
      return;
    case ScaleType::bf16:
      reinterpret_cast<uint16_t*>(scales)[at] = bf16_nearest(scale);
      return;
    case ScaleType::e8m0:
      scales[at] = e8m0_code(scale);
      return;
    case ScaleType::e4m3:
      scales[at] = e4m3_code(scale);
      return;
  }
}

// Calls f(row, group, col, stop) for the elements [begin, end) of storage order: columns [col, stop) of a row, within one
// group.
template <class F> void for_runs(const GroupLayout& l, int64_t begin, int64_t end, F f) {
  if (begin >= end) return;
  int64_t row = begin / l.cols, col = begin % l.cols;
  while (begin < end) {
    const int64_t group = col / l.group;
    int64_t stop = (group + 1) * l.group;
    stop = stop < l.cols ? stop : l.cols;
    stop = stop - col < end - begin ? stop : col + (end - begin);
    f(row, group, col, stop);
    begin += stop - col;
    col = stop;
    if (col == l.cols) col = 0, ++row;
  }
}

// *best = max(*best, value), whoever else does so.
inline void raise(uint32_t* best, uint32_t value) {
  uint32_t seen = __atomic_load_n(best, __ATOMIC_RELAXED);
  while (seen < value && !__atomic_compare_exchange_n(best, &seen, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

}  // namespace dyadic::DY_ISA
