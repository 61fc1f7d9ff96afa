// Runs of elements that are spaced: every k-th, backwards, any stride. Elements need no alignment. Only for files that are
// compiled per instruction set.
#pragma once
#include "loops/strided_few.h"
#include "loops/widths.h"

namespace dyadic::DY_ISA {

// dst[i] = src[-i].
template <int64_t W> void take_backwards(char* dst, const char* src, int64_t n) {
  int64_t i = 0;
  if constexpr (W < 16) {
    constexpr Unsigned<W == 1 ? 2 : W> d;  // bytes in pairs
    constexpr int64_t kCount = kVector / W;
    for (; i + kCount <= n; i += kCount) {
      const auto bytes = hn::LoadU(kBytes, reinterpret_cast<const uint8_t*>(src - (i + kCount - 1) * W));
      auto v = hn::Reverse(d, hn::BitCast(d, bytes));
      if constexpr (W == 1) v = hn::Or(hn::ShiftLeft<8>(v), hn::ShiftRight<8>(v));
      hn::StoreU(hn::BitCast(kBytes, v), kBytes, reinterpret_cast<uint8_t*>(dst + i * W));
    }
  }
  for (; i < n; i++) __builtin_memcpy(dst + i * W, src - i * W, W);
}

// dst[i] = src[K i], by whole vectors: how many were written.
template <int K, int64_t W> int64_t take_every(char* dst, const char* src, int64_t n) {
  constexpr Unsigned<W> d;
  using T = hn::TFromD<Unsigned<W>>;
  using V = hn::Vec<Unsigned<W>>;
  constexpr int64_t kCount = kVector / W;
  int64_t i = 0;
  for (; i + kCount < n; i += kCount) {  // the last vector would be read beyond the last element
    const T* from = reinterpret_cast<const T*>(src + K * i * W);
    auto evens = [&](const T* at) { return hn::ConcatEven(d, hn::LoadU(d, at + kCount), hn::LoadU(d, at)); };
    V v, unused;
    if constexpr (K == 2) v = evens(from);
    if constexpr (K == 3) hn::LoadInterleaved3(d, from, v, unused, unused);
    if constexpr (K == 4) v = hn::ConcatEven(d, evens(from + 2 * kCount), evens(from));
    hn::StoreU(v, d, reinterpret_cast<T*>(dst + i * W));
  }
  return i;
}

// Strides are in bytes.
template <int64_t W> void copy_spaced(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4, dst += 4 * dst_stride, src += 4 * src_stride) {
    char v[4][W];
    for (int64_t k = 0; k < 4; k++) __builtin_memcpy(v[k], src + k * src_stride, W);
    for (int64_t k = 0; k < 4; k++) __builtin_memcpy(dst + k * dst_stride, v[k], W);
  }
  for (; i < n; i++, dst += dst_stride, src += src_stride) __builtin_memcpy(dst, src, W);
}
template <int64_t W> void move_spaced(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) {
  int64_t done = 0;
  if (dst_stride == W) {
    if (src_stride == -W) return take_backwards<W>(dst, src, n);
    if constexpr (W >= 2 && W <= 8)
      if (src_stride % W == 0) with_few(src_stride / W, [&](auto k) { done = take_every<k(), W>(dst, src, n); });
  }
  copy_spaced<W>(dst + done * dst_stride, dst_stride, src + done * src_stride, src_stride, n - done);
}

}  // namespace dyadic::DY_ISA
