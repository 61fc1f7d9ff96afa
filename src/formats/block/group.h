// What the formats with a scale per tensor, row, group or tile share: how a range falls into groups, how scales are stored.
#pragma once
#include "formats/block/lanes.h"
#include "formats/layout.h"
#include "formats/scalar/f8_scales.h"

namespace dyadic::DY_ISA {

// The scale of a group of a row, counted in scales.
inline int64_t scale_at(const GroupLayout& l, int64_t row, int64_t group) {
  return l.scales_per_row ? (l.band == 1 ? row : row / l.band) * l.scales_per_row + group : 0;
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

// Calls f(row, col, stop) for the elements [begin, end) of storage order: columns [col, stop) of a row, at most kRowChunk.
inline constexpr int64_t kRowChunk = 256;
template <class F> void for_rows(const GroupLayout& l, int64_t begin, int64_t end, F f) {
  if (begin >= end) return;
  int64_t row = begin / l.cols, col = begin - row * l.cols;
  while (begin < end) {
    int64_t stop = col + kRowChunk < l.cols ? col + kRowChunk : l.cols;
    stop = stop - col < end - begin ? stop : col + (end - begin);
    f(row, col, stop);
    begin += stop - col;
    col = stop;
    if (col == l.cols) col = 0, ++row;
  }
}
// Calls f(scale, col, stop) for the runs of columns [col, stop) of a row that share a scale, counted in scales.
template <class F> void for_runs(const GroupLayout& l, int64_t row, int64_t col, int64_t stop, F f) {
  const int64_t group = col / l.group;
  int64_t scale = scale_at(l, row, group), next = (group + 1) * l.group;
  for (; col < stop; next += l.group, scale += l.scales_per_row ? 1 : 0) {
    const int64_t last = next < stop ? next : stop;
    f(scale, col, last);
    col = last;
  }
}

// The scales of columns [col, stop) of a row, times `whole`; gives the number of the first. Writes up to kLanes more.
inline int64_t load_scales(const GroupLayout& l, const uint8_t* base, int64_t row, int64_t col, int64_t stop, float whole,
                           float* out) {
  const int64_t first = scale_at(l, row, col / l.group);
  const int64_t count = l.scales_per_row && col < stop ? (stop - 1) / l.group - col / l.group + 1 : 1;
  if (l.scale != ScaleType::e4m3 || count < 4) {
    for (int64_t i = 0; i < count; ++i) out[i] = load_scale(l, base, first + i) * whole;
    return first;
  }
  const VF by = hn::Set(kF32, whole);
  uint8_t codes[kRowChunk + kLanes];
  __builtin_memcpy(codes, base + l.scales + first, size_t(count));
  constexpr hn::Rebind<uint8_t, I32> bytes{};
  for (int64_t i = 0; i < count; i += kLanes)
    hn::StoreU(hn::Mul(E4m3::values(hn::PromoteTo(kI32, hn::LoadU(bytes, codes + i))), by), kF32, out + i);
  return first;
}

// absmax_bits() of the finite elements.
inline uint32_t finite_absmax_bits(const float* in, int64_t n) {
  const VI mask = hn::Set(kI32, int32_t(kAbsMask)), infinity = hn::Set(kI32, int32_t(kInfBits));
  VI most = hn::Zero(kI32);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const VI size = hn::And(mask, hn::BitCast(kI32, hn::LoadU(kF32, in + i)));
    most = hn::Max(most, hn::IfThenElseZero(hn::Lt(size, infinity), size));
  }
  uint32_t best = uint32_t(hn::GetLane(hn::MaxOfLanes(kI32, most)));
  for (; i < n; ++i) {
    const uint32_t size = float_bits(in[i]) & kAbsMask;
    best = size < kInfBits && size > best ? size : best;
  }
  return best;
}

// *best = max(*best, value), whoever else does so.
inline void raise(uint32_t* best, uint32_t value) {
  uint32_t seen = __atomic_load_n(best, __ATOMIC_RELAXED);
  while (seen < value && !__atomic_compare_exchange_n(best, &seen, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

}  // namespace dyadic::DY_ISA
