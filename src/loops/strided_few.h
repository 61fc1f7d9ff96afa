// Transposes of two, three or four rows or columns: pixels to channels and back. Elements need no alignment. Only for files
// that are compiled per instruction set.
#pragma once
#include "loops/strided_plan.h"
#include "loops/widths.h"

namespace dyadic::DY_ISA {

// dst[k N + i] = src[i, k]: N rows that lie `step` bytes apart, side by side.
template <int N, class T> void join_rows(T* dst, const char* src, int64_t step, int64_t n) {
  constexpr hn::ScalableTag<T> d;
  constexpr int64_t kSize = hn::MaxLanes(d);
  const T* row[N];
  for (int i = 0; i < N; i++) row[i] = reinterpret_cast<const T*>(src + i * step);
  int64_t k = 0;
  for (; k + kSize <= n; k += kSize, dst += N * kSize) {
    const auto a = hn::LoadU(d, row[0] + k), b = hn::LoadU(d, row[1] + k);
    if constexpr (N == 2) hn::StoreInterleaved2(a, b, d, dst);
    if constexpr (N == 3) hn::StoreInterleaved3(a, b, hn::LoadU(d, row[2] + k), d, dst);
    if constexpr (N == 4) hn::StoreInterleaved4(a, b, hn::LoadU(d, row[2] + k), hn::LoadU(d, row[3] + k), d, dst);
  }
  for (; k < n; k++)
    for (int i = 0; i < N; i++) __builtin_memcpy(dst++, row[i] + k, sizeof(T));
}
// dst[i, k] = src[k N + i].
template <int N, class T> void part_rows(char* dst, int64_t step, const T* src, int64_t n) {
  constexpr hn::ScalableTag<T> d;
  constexpr int64_t kSize = hn::MaxLanes(d);
  T* row[N];
  for (int i = 0; i < N; i++) row[i] = reinterpret_cast<T*>(dst + i * step);
  int64_t k = 0;
  for (; k + kSize <= n; k += kSize, src += N * kSize) {
    hn::Vec<hn::ScalableTag<T>> v[4];
    if constexpr (N == 2) hn::LoadInterleaved2(d, src, v[0], v[1]);
    if constexpr (N == 3) hn::LoadInterleaved3(d, src, v[0], v[1], v[2]);
    if constexpr (N == 4) hn::LoadInterleaved4(d, src, v[0], v[1], v[2], v[3]);
    for (int i = 0; i < N; i++) hn::StoreU(v[i], d, row[i] + k);
  }
  for (; k < n; k++)
    for (int i = 0; i < N; i++) __builtin_memcpy(row[i] + k, src++, sizeof(T));
}

// f(N) with the number as a constant where it is 2, 3 or 4; false where it isn't.
template <class F> bool with_few(int64_t count, F&& f) {
  if (count == 2) return f(std::integral_constant<int, 2>()), true;
  if (count == 3) return f(std::integral_constant<int, 3>()), true;
  if (count == 4) return f(std::integral_constant<int, 4>()), true;
  return false;
}

// A transpose whose short side is dense. pieces(n, body(dst, src, first, count)): threads and outer dimensions are the
// caller's.
template <class T, class Pieces> bool transpose_few(const StridedPlan& p, const Pieces& pieces) {
  constexpr int64_t kWidth = sizeof(T);
  const bool joined =
      p.dst_stride[1] == p.size[0] * kWidth && with_few(p.size[0], [&](auto rows) {
        pieces(p.size[1], [&](char* dst, const char* src, int64_t first, int64_t count) {
          join_rows<rows()>(reinterpret_cast<T*>(dst + first * p.dst_stride[1]), src + first * kWidth, p.src_stride[0], count);
        });
      });
  if (joined) return true;
  return p.src_stride[0] == p.size[1] * kWidth && with_few(p.size[1], [&](auto rows) {
           pieces(p.size[0], [&](char* dst, const char* src, int64_t first, int64_t count) {
             part_rows<rows()>(dst + first * kWidth, p.dst_stride[1], reinterpret_cast<const T*>(src + first * p.src_stride[0]),
                               count);
           });
         });
}

}  // namespace dyadic::DY_ISA
