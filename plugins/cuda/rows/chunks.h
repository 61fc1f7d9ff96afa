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
  __device__ __forceinline__ Span(int64_t first, int64_t n, int most, bool exact = false)
      : first(first), off(exact ? 0 : int(first % kChunk)) {
    this->n = n < most - off ? int(n) : most - off;
  }
};

// Two values as they are stored side by side, and one as it is read, by one instruction where the card has one: NaNs become the
// card's own.
template <class E> __device__ __forceinline__ void stored_pair(float a, float b, typename E::Stored* to) {
#if __CUDA_ARCH__
  if constexpr (std::is_same_v<E, ElementOf<Code::bf16>>) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
    __builtin_memcpy(to, &pair, 4);
    return;
  }
  if constexpr (std::is_same_v<E, ElementOf<Code::f16>>) {
    const __half2 pair = __floats2half2_rn(a, b);
    __builtin_memcpy(to, &pair, 4);
    return;
  }
#endif
  to[0] = E::stored(a), to[1] = E::stored(b);
}

template <class E> __device__ __forceinline__ typename E::Value row_value(typename E::Stored x) {
#if __CUDA_ARCH__
  if constexpr (std::is_same_v<E, ElementOf<Code::f16>>) return __half2float(__ushort_as_half(x));
#endif
  return E::value(x);
}

// kN neighbouring elements as they are stored, in words of 16 bytes where they fill some.
template <class E, int kN> struct Packed {
  using T = typename E::Value;
  using Stored = typename E::Stored;
  static constexpr int kWords = kN * int(sizeof(Stored)) / 16;
  static_assert(kN * sizeof(Stored) % 16 == 0);
  ::uint4 word[kWords];

  __device__ __forceinline__ void read(const Stored* from) {
#if __CUDA_ARCH__
    DY_UNROLL
    for (int w = 0; w < kWords; ++w) word[w] = reinterpret_cast<const ::uint4*>(from)[w];
#else
    __builtin_memcpy(word, from, sizeof(word));
#endif
  }
  __device__ __forceinline__ void write(Stored* to) const {
#if __CUDA_ARCH__
    DY_UNROLL
    for (int w = 0; w < kWords; ++w) put_words(to + w * (kN / kWords), word[w].x, word[w].y, word[w].z, word[w].w);
#else
    __builtin_memcpy(to, word, sizeof(word));
#endif
  }
  __device__ __forceinline__ void pack(const T (&v)[kN]) {
    Stored stored[kN];
    DY_UNROLL
    for (int j = 0; j < kN; j += 2) {
      if constexpr (std::is_same_v<T, float>)
        stored_pair<E>(v[j], v[j + 1], stored + j);
      else
        stored[j] = E::stored(v[j]), stored[j + 1] = E::stored(v[j + 1]);
    }
    __builtin_memcpy(word, stored, sizeof(word));
  }
  __device__ __forceinline__ void unpack(T (&v)[kN]) const {
    Stored stored[kN];
    __builtin_memcpy(stored, word, sizeof(word));
    DY_UNROLL
    for (int j = 0; j < kN; ++j) v[j] = row_value<E>(stored[j]);
  }
};
// Elements of a word.
template <class E> inline constexpr int kWide = 16 / int(sizeof(typename E::Stored));

// A span in the registers of kGroup threads, kPer chunks of kN elements each: thread t has chunks t, t + kGroup, ... kExact:
// all rows are whole chunks in aligned tensors, so that nothing is read or written but by wide accesses.
template <class E, int kGroup, int kPer, int kN = kChunk, bool kExact = false> struct HeldRow {
  using T = typename E::Value;
  using Stored = typename E::Stored;
  static constexpr int kMost = kGroup * kPer * kN, kChunks = kPer, kEach = kN;
  T v[kPer][kN];

  static __device__ __forceinline__ Span span(int64_t first, int64_t n) { return Span(first, n, kMost, kExact); }
  // Of element j of a thread's chunk k: its number in the span, and whether it is one of it.
  static __device__ __forceinline__ int number(const Span& s, int t, int k, int j) { return (k * kGroup + t) * kN + j - s.off; }
  static __device__ __forceinline__ bool has(const Span& s, int t, int k, int j) {
    return unsigned(number(s, t, k, j)) < unsigned(s.n);
  }
  // Whether all of chunk k belongs to it; part of it.
  static __device__ __forceinline__ bool is_whole(const Span& s, int t, int k) {
    const int i = number(s, t, k, 0);
    return i >= 0 && i + kN <= s.n;
  }
  static __device__ __forceinline__ bool is_some(const Span& s, int t, int k) {
    const int i = number(s, t, k, 0);
    return i + kN > 0 && i < s.n;
  }
  // A span as W stores it: what is on its way while its predecessor is worked on. What is not of the span becomes `rest`.
  template <class W = E> struct Coming {
    Packed<W, kN> chunk[kPer];

    __device__ __forceinline__ void load(const void* at, const Span& s, int t, bool aligned, T rest) {
      const auto* from = static_cast<const typename W::Stored*>(at) + s.first;
      DY_UNROLL
      for (int k = 0; k < kPer; ++k) load_whole<W>(chunk[k], from, s, t, k, aligned, rest);
      DY_UNROLL
      for (int k = 0; k < kPer; ++k) load_part<W>(chunk[k], from, s, t, k, aligned, rest);
    }
  };
  // Chunk k by wide accesses, if it is whole, without a branch: the loads of several chunks are on their way at once.
  template <class W>
  static __device__ __forceinline__ void load_whole(Packed<W, kN>& chunk, const typename W::Stored* from, const Span& s, int t,
                                                    int k, bool aligned, T rest) {
    T beyond[kN];
    DY_UNROLL
    for (T& v : beyond) v = rest;
    chunk.pack(beyond);
    if ((kExact || aligned) && is_whole(s, t, k)) chunk.read(from + number(s, t, k, 0));
  }
  template <class W>
  static __device__ __forceinline__ void load_part(Packed<W, kN>& chunk, const typename W::Stored* from, const Span& s, int t,
                                                   int k, bool aligned, T rest) {
    if constexpr (!kExact) {
      if ((aligned && is_whole(s, t, k)) || !is_some(s, t, k)) return;
      T v[kN];
      DY_UNROLL
      for (int j = 0; j < kN; ++j) v[j] = has(s, t, k, j) ? T(W::value(from[number(s, t, k, j)])) : rest;
      chunk.pack(v);
    }
  }
  template <class W> __device__ __forceinline__ void take(const Coming<W>& from) {
    DY_UNROLL
    for (int k = 0; k < kPer; ++k) from.chunk[k].unpack(v[k]);
  }
  // Chunk k alone, of elements stored as W.
  template <class W>
  static __device__ __forceinline__ void load_chunk(const typename W::Stored* from, const Span& s, int t, int k, bool aligned,
                                                    T (&v)[kN], T rest) {
    Packed<W, kN> chunk;
    load_whole<W>(chunk, from, s, t, k, aligned, rest);
    load_part<W>(chunk, from, s, t, k, aligned, rest);
    chunk.unpack(v);
  }
  __device__ __forceinline__ void load(const void* at, const Span& s, int t, bool aligned, T rest) {
    Coming<E> all;
    all.load(at, s, t, aligned, rest);
    take(all);
  }
  // What is not of the span becomes x.
  __device__ __forceinline__ void set_rest(const Span& s, int t, T x) {
    DY_UNROLL
    for (int k = 0; k < kPer; ++k) {
      if (is_whole(s, t, k)) continue;
      DY_UNROLL
      for (int j = 0; j < kN; ++j) v[k][j] = !kExact && has(s, t, k, j) ? v[k][j] : x;
    }
  }
  __device__ __forceinline__ void store(void* at, const Span& s, int t, bool aligned) const {
    Stored* to = static_cast<Stored*>(at) + s.first;
    DY_UNROLL
    for (int k = 0; k < kPer; ++k) {
      Packed<E, kN> chunk;
      chunk.pack(v[k]);
      if ((kExact || aligned) && is_whole(s, t, k)) {
        chunk.write(to + number(s, t, k, 0));
      } else if (!kExact && is_some(s, t, k)) {
        Stored stored[kN];
        __builtin_memcpy(stored, chunk.word, sizeof(stored));
        DY_UNROLL
        for (int j = 0; j < kN; ++j)
          if (has(s, t, k, j)) to[number(s, t, k, j)] = stored[j];
      }
    }
  }
  template <class F> __device__ __forceinline__ void each(F f) {  // f(element), those beyond the row too
    DY_UNROLL
    for (int k = 0; k < kPer; ++k) {
      DY_UNROLL
      for (int j = 0; j < kN; ++j) f(v[k][j]);
    }
  }
  // merge over f(k, j): of each chunk as a tree, then chunk after chunk.
  template <class F, class M> static __device__ __forceinline__ auto fold(F f, M merge) {
    decltype(f(0, 0)) all{};
    DY_UNROLL
    for (int k = 0; k < kPer; ++k) {
      decltype(f(0, 0)) part[kN];
      DY_UNROLL
      for (int j = 0; j < kN; ++j) part[j] = f(k, j);
      DY_UNROLL
      for (int half = kN / 2; half > 0; half /= 2) {
        DY_UNROLL
        for (int j = 0; j < half; ++j) part[j] = merge(part[j], part[j + half]);
      }
      all = k ? merge(all, part[0]) : part[0];
    }
    return all;
  }
};
// kPer times eight elements of a thread, in chunks of one word: neighbouring threads meet neighbouring words.
template <class E, int kGroup, int kPer, bool kExact = false>
using WideRow = HeldRow<E, kGroup, kPer * kChunk / kWide<E>, kWide<E>, kExact>;

// f(span) for the parts of a row that do not fit into registers at once.
template <class Row, class F> __device__ __forceinline__ void for_spans(int64_t first, int64_t n, F f) {
  for (int64_t i = 0; i < n;) {
    const Span span = Row::span(first + i, n - i);
    f(span);
    i += span.n;
  }
}

// The same of every `parts`-th of these, from number `part` on, one ahead: come(span) begins to load it, take() takes what
// came.
template <class Row, class C, class K, class W>
__device__ __forceinline__ void for_spans_ahead(int64_t first, int64_t n, int part, int parts, C come, K take, W work) {
  const int off = int(first % kChunk);
  const int64_t count = (n + off + Row::kMost - 1) / Row::kMost;
  auto span_of = [&](int64_t k) {
    const int64_t begin = k ? k * Row::kMost - off : 0;
    return Row::span(first + begin, n - begin);
  };
  DY_UNROLL_BY(1)
  for (int64_t k = part - parts; k < count; k += parts) {
    if (k >= 0) take();
    if (k + parts < count) come(span_of(k + parts));
    if (k >= 0) work(span_of(k));
  }
}

// How rows of n elements are held, kRows of them at once: calls f with <threads of a row, eights of elements of a thread,
// threads of a block> for those that fit into registers, and says false for longer ones.
template <class E, int kRows, class F> bool with_held_row(int64_t row, F&& f) {
  const int64_t n = row % kChunk ? row + kChunk - 1 : row;  // it may begin within a chunk
  auto fits = [&]<int kGroup, int kPer, int kThreads>() {
    if (n > kGroup * kPer * kChunk) return false;
    f.template operator()<kGroup, kPer, kThreads>();
    return true;
  };
  if (fits.template operator()<8, 1, 128>() || fits.template operator()<32, 1, 128>()) return true;
  if constexpr (sizeof(typename E::Value) == 8) {
    return fits.template operator()<256, (kRows > 2 ? 1 : 2), 256>();
  } else if constexpr (kRows > 2) {  // registers hold sums of columns too
    return fits.template operator()<128, 1, 128>() || fits.template operator()<512, 1, 512>() ||
           fits.template operator()<512, 2, 512>();
  } else {
    if (fits.template operator()<32, 3, 128>() || fits.template operator()<32, 4, 128>() ||
        fits.template operator()<128, 2, 128>() || fits.template operator()<256, 2, 256>() ||
        fits.template operator()<256, 4, 256>())
      return true;
    if constexpr (kRows == 1) return fits.template operator()<512, 4, 512>();
    return false;
  }
}
// Blocks of so many threads that a multiprocessor runs at once where each thread has so many registers.
constexpr int resident_blocks(int threads, int registers) {
  constexpr int kRegisters = 65536, kThreads = 1536;
  const int by_registers = kRegisters / (threads * ((registers + 7) / 8 * 8)), by_threads = kThreads / threads;
  return by_registers < 1 ? 1 : by_registers < by_threads ? by_registers : by_threads;
}
// Rows of E that are held kRows at once while as many are on their way: whether there are registers for these, and how many
// blocks then go through the rows side by side. kMore: registers that a kernel needs besides, if nothing is on its way.
template <class E, int kPer, int kThreads, int kRows, bool kExact, int kMore = 0> struct Streamed {
  static constexpr int kHeld = kRows * kPer * kChunk * int(sizeof(typename E::Value)) / 4,
                       kComing = kRows * kPer * kChunk * int(sizeof(typename E::Stored)) / 4;
  static constexpr bool kAhead = kExact && kComing <= 16;
  static constexpr int kOthers = kAhead ? kComing + (kHeld + kComing < 32 ? 24 : 32) : kExact ? 38 + kMore : 50;
  static constexpr int kBlocks = resident_blocks(kThreads, kHeld + kOthers);
};
// f<whether rows of n are whole chunks>().
template <class F> void with_exact(bool aligned, int64_t n, F&& f) {
  aligned&& n % kChunk == 0 ? f.template operator()<true>() : f.template operator()<false>();
}
// Rows r of a group of threads, of which a block has kRows: come(r) begins to load one, take() takes what came into what
// work(r) works with. kAhead: the next row is on its way then, so that memory is busy while a block waits for its threads.
template <bool kAhead, int kRows, class C, class K, class W>
__device__ __forceinline__ void for_rows(int64_t rows, int group, C come, K take, W work) {
  const int64_t step = int64_t(gridDim.x) * kRows;
  DY_UNROLL_BY(1)
  for (int64_t first = int64_t(blockIdx.x) * kRows - (kAhead ? step : 0); first < rows; first += step) {
    if (kAhead) take();
    const int64_t next = kAhead ? first + step : first;
    if (next < rows) come(next + group);
    if (kAhead && first < 0) continue;
    if (!kAhead) take();
    work(first + group);
  }
}

inline constexpr int64_t kMostBlocks = 1 << 20;
// Blocks for so many rows, of which one has threads / group.
inline int64_t blocks_for(int64_t rows, int group, int threads) {
  const int64_t each = threads / group, blocks = (rows + each - 1) / each;
  return blocks < kMostBlocks ? blocks : kMostBlocks;
}
// The same where blocks go on by strides of the grid: no more than `resident` for each multiprocessor.
inline int64_t blocks_for(int64_t rows, int group, int threads, int resident) {
  const int64_t blocks = blocks_for(rows, group, threads), most = int64_t(resident) * multiprocessors();
  return blocks < most ? blocks : most;
}

}  // namespace dyadic::gpu
