// Rows as threads read and write them: by chunks of eight neighbouring elements of the tensor, of which a row's first and last
// may be parts. Which elements a thread has depends on shapes alone, not on where in memory a tensor lies.
#pragma once
#include "plugins/cuda/elements.h"

#if __CUDACC__
#define DY_PRAGMA(text) _Pragma(#text)
#define DY_UNROLL_BY(n) DY_PRAGMA(unroll n)
#else
#define DY_UNROLL_BY(n)
#endif

namespace dyadic::gpu {

inline constexpr int kChunk = 8;

// Formats that kernels of rows are compiled for; operands of others are converted first (Usual).
inline bool is_usual(Code c) { return c == Code::f32 || c == Code::f64 || c == Code::f16 || c == Code::bf16; }
// f<element type>() for a usual format.
template <class F> void with_usual(Code code, F&& f) {
  if (code == Code::f32) return f.template operator()<ElementOf<Code::f32>>();
  if (code == Code::bf16) return f.template operator()<ElementOf<Code::bf16>>();
  if (code == Code::f16) return f.template operator()<ElementOf<Code::f16>>();
  f.template operator()<ElementOf<Code::f64>>();
}

// Whether 16-byte accesses are possible where operands begin at these places.
template <class... P> bool all_aligned(P... at) { return (is_aligned(at) && ...); }

// A part of a tensor: n elements from number `first` on, which lies `off` elements behind the start of its chunk.
struct Span {
  int64_t first;
  int n, off;
  // As much of a row's rest as kMost elements of whole chunks hold.
  __device__ __forceinline__ Span(int64_t first, int64_t n, int most) : first(first), off(int(first % kChunk)) {
    this->n = n < most - off ? int(n) : most - off;
  }
};

// A span in the registers of kGroup threads, kPer chunks of each: thread t has chunks t, t + kGroup, ...
template <class E, int kGroup, int kPer> struct HeldRow {
  using T = typename E::Value;
  using Stored = typename E::Stored;
  static constexpr int kMost = kGroup * kPer * kChunk;
  T v[kPer][kChunk];

  static __device__ __forceinline__ Span span(int64_t first, int64_t n) { return Span(first, n, kMost); }
  // Of element j of a thread's chunk k: its number in the span, and whether it is one of it.
  static __device__ __forceinline__ int number(const Span& s, int t, int k, int j) {
    return (k * kGroup + t) * kChunk + j - s.off;
  }
  static __device__ __forceinline__ bool has(const Span& s, int t, int k, int j) {
    return unsigned(number(s, t, k, j)) < unsigned(s.n);
  }
  // Chunk k of elements stored as W that belong to the span's; the others become `rest`. Whole: by wide accesses.
  template <class W>
  static __device__ __forceinline__ void load_chunk(const typename W::Stored* from, const Span& s, int t, int k, bool wide,
                                                    T (&v)[kChunk], T rest) {
    const int i = number(s, t, k, 0);
    if (wide && i >= 0 && i + kChunk <= s.n) return load_run<W>(from, i, v);
    DY_UNROLL
    for (int j = 0; j < kChunk; ++j) v[j] = has(s, t, k, j) ? T(W::value(from[i + j])) : rest;
  }
  __device__ __forceinline__ void load(const void* at, const Span& s, int t, bool aligned, T rest) {
    DY_UNROLL
    for (int k = 0; k < kPer; ++k) load_chunk<E>(static_cast<const Stored*>(at) + s.first, s, t, k, aligned, v[k], rest);
  }
  __device__ __forceinline__ void store(void* at, const Span& s, int t, bool aligned) const {
    Stored* to = static_cast<Stored*>(at) + s.first;
    DY_UNROLL
    for (int k = 0; k < kPer; ++k) {
      const int i = number(s, t, k, 0);
      if (aligned && i >= 0 && i + kChunk <= s.n) {
        store_run<E>(to, i, v[k]);
      } else {
        DY_UNROLL
        for (int j = 0; j < kChunk; ++j)
          if (has(s, t, k, j)) to[i + j] = E::stored(v[k][j]);
      }
    }
  }
  template <class F> __device__ __forceinline__ void each(F f) {  // f(element), those beyond the row too
    DY_UNROLL
    for (int k = 0; k < kPer; ++k) {
      DY_UNROLL
      for (int j = 0; j < kChunk; ++j) f(v[k][j]);
    }
  }
  // merge over f(k, j): of each chunk as a tree, then chunk after chunk.
  template <class F, class M> static __device__ __forceinline__ auto fold(F f, M merge) {
    decltype(f(0, 0)) all{};
    DY_UNROLL
    for (int k = 0; k < kPer; ++k) {
      decltype(f(0, 0)) part[kChunk];
      DY_UNROLL
      for (int j = 0; j < kChunk; ++j) part[j] = f(k, j);
      DY_UNROLL
      for (int half = kChunk / 2; half > 0; half /= 2) {
        DY_UNROLL
        for (int j = 0; j < half; ++j) part[j] = merge(part[j], part[j + half]);
      }
      all = k ? merge(all, part[0]) : part[0];
    }
    return all;
  }
};

// f(span) for the parts of a row that do not fit into registers at once.
template <class Row, class F> __device__ __forceinline__ void for_spans(int64_t first, int64_t n, F f) {
  for (int64_t i = 0; i < n;) {
    const Span span = Row::span(first + i, n - i);
    f(span);
    i += span.n;
  }
}

// How rows of n elements are held, kRows of them at once: calls f with <threads of a row, chunks of a thread, threads of a
// block> for those that fit into registers, and says false for longer ones.
template <class E, int kRows, class F> bool with_held_row(int64_t row, F&& f) {
  const int64_t n = row % kChunk ? row + kChunk - 1 : row;  // it may begin within a chunk
  if (n <= 8 * kChunk) return f.template operator()<8, 1, 128>(), true;
  if (n <= 32 * kChunk) return f.template operator()<32, 1, 128>(), true;
  if constexpr (sizeof(typename E::Value) == 8) {
    if (n <= 256 * 2 * kChunk) return f.template operator()<256, 2, 256>(), true;
  } else {
    constexpr int kPer = kRows > 2 ? 2 : 4;
    if (n <= 32 * kPer * kChunk) return f.template operator()<32, kPer, 128>(), true;
    if (n <= 256 * 2 * kChunk) return f.template operator()<256, 2, 256>(), true;
    if constexpr (kRows > 2) {
      if (n <= 512 * 2 * kChunk) return f.template operator()<512, 2, 512>(), true;
    } else {
      if (n <= 256 * 4 * kChunk) return f.template operator()<256, 4, 256>(), true;
    }
    if constexpr (kRows == 1)
      if (n <= 512 * 4 * kChunk) return f.template operator()<512, 4, 512>(), true;
  }
  return false;
}
inline constexpr int64_t kMostBlocks = 1 << 20;
// Blocks for so many rows, of which one has threads / group.
inline int64_t blocks_for(int64_t rows, int group, int threads) {
  const int64_t each = threads / group, blocks = (rows + each - 1) / each;
  return blocks < kMostBlocks ? blocks : kMostBlocks;
}

}  // namespace dyadic::gpu
