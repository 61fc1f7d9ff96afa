// What attention's forward and backward share: which keys a query sees, products of cache blocks that leave out what nobody
// sees, loading and storing of rows. Only for files that are compiled per instruction set.
#pragma once
#include "loops/gemm_pack.h"
#include "ops/nn/attention_kernel.h"

namespace dyadic::DY_ISA {

inline constexpr int64_t kQueryRows = 64;              // a block of queries
inline constexpr int64_t kKeyRows = 512;               // a block of keys
inline constexpr int64_t kGroupRows = 4 * kQueryRows;  // queries that share a packed block of keys in forward
// Rows of scores and of transposed keys: no power of two, which would put all rows into a few cache sets.
inline constexpr int64_t kScoreStride = kKeyRows + 48, kKeyStride = kKeyRows + 16;

constexpr int64_t up_to(int64_t x, int64_t multiple) { return (x + multiple - 1) / multiple * multiple; }
constexpr int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t at_least(int64_t a, int64_t b) { return a > b ? a : b; }

// Keys [0, visible(i)) are seen by query i.
struct Sight {
  int64_t tq, tk;
  bool causal;
  int64_t visible(int64_t i) const { return causal ? at_least(0, at_most(tk, i + 1 + tk - tq)) : tk; }
  int64_t first_query(int64_t j) const { return causal ? at_least(0, j - (tk - tq)) : 0; }  // that sees key j
};

// The rows of a head lie far apart ([B, T, 3, H, D]), beyond what the hardware foresees: fetching a few rows ahead saves up to
// a third of the time of small heads.
inline constexpr int64_t kAhead = 12;
template <class S> static inline void prefetch_row(const S* p, int64_t d) {
  for (int64_t j = 0; j < d; j += 64 / int64_t(sizeof(S))) __builtin_prefetch(p + j);
}
// Row ranges to be fetched a few lines at a time between register tiles, so that memory works while the tiles compute.
struct Ahead {
  struct Rows {
    const char* p;
    int64_t step, bytes, count;  // bytes of a row and from row to row
  } range[8];
  int ranges = 0;
  int64_t row = 0, at = 0;
  template <class S> void add(const S* p, int64_t stride, int64_t rows, int64_t d) {
    if (rows > 0 && d > 0 && ranges < 8)
      range[ranges++] = {(const char*)p, stride * int64_t(sizeof(S)), d * int64_t(sizeof(S)), rows};
  }
  int64_t lines() const {
    int64_t n = 0;
    for (int i = 0; i < ranges; ++i) n += range[i].count * ((range[i].bytes + 63) / 64);
    return n;
  }
  void fetch(int64_t lines) {
    while (ranges > 0 && lines-- > 0) {
      const Rows& r = range[ranges - 1];
      __builtin_prefetch(r.p + row * r.step + at, 0, 2);  // to L2: L1 is full of what is being multiplied
      if ((at += 64) >= r.bytes) at = 0, ++row;
      if (row == r.count) row = 0, --ranges;
    }
  }
};

// c[m, n] = or += a b where the bounds of each register tile come from `bounds(row, rows)`: columns of c and the range of k
// that count. b and c have room for whole pairs of vectors.
struct Bounds {
  int64_t cols, k_begin, k_end;
};
template <class Args, class F> static inline void product(int64_t m, const Args& args, F bounds, Ahead& ahead) {
  using T = std::remove_reference_t<decltype(*args.c)>;
  int64_t most = 0;
  for (int64_t i = 0; i < m; i += next_rows(m - i)) most = at_least(most, bounds(i, next_rows(m - i)).cols);
  for (int64_t j = 0; j < most; j += kMicroCols<T>)
    for (int64_t i = 0; i < m;) {
      const int64_t rows = next_rows(m - i);
      const Bounds in = bounds(i, rows);
      if (j < in.cols) {
        ahead.fetch(10);
        Args g = args;
        g.k = at_least(0, in.k_end - in.k_begin);
        g.a += i * g.a_row + in.k_begin * g.a_col, g.b += j + in.k_begin * g.b_row, g.c += i * g.c_row + j;
        if (in.cols - j > kLanes<T>)
          micro_of<2>(rows, g);
        else
          micro_of<1>(rows, g);
      }
      i += rows;
    }
}

// rows x d elements of a view's head, times `factor`, as rows of `width` with zeros behind.
template <class T, class S>
static void load_rows(const S* from, int64_t stride, int64_t rows, int64_t d, T factor, T* to, int64_t width) {
  constexpr hn::ScalableTag<T> tag;
  const auto f = hn::Set(tag, factor);
  for (int64_t i = 0; i < rows; ++i) {
    const S* x = from + i * stride;
    T* y = to + i * width;
    int64_t j = 0;
    if (i + kAhead < rows) prefetch_row(x + kAhead * stride, d);
    for (; j + kLanes<T> <= d; j += kLanes<T>) hn::StoreU(hn::Mul(load_as(tag, x + j), f), tag, y + j);
    for (; j < d; ++j) y[j] = load1<T>(x + j) * factor;
    zero_row(y + d, width - d);
  }
}
template <class T, class S>
static void store_rows(const T* from, int64_t width, int64_t rows, int64_t d, T factor, S* to, int64_t stride) {
  constexpr hn::ScalableTag<T> tag;
  const auto f = hn::Set(tag, factor);
  for (int64_t i = 0; i < rows; ++i) {
    const T* x = from + i * width;
    S* y = to + i * stride;
    int64_t j = 0;
    for (; j + kLanes<T> <= d; j += kLanes<T>) store_as(hn::Mul(hn::LoadU(tag, x + j), f), tag, y + j);
    for (; j < d; ++j) store1(x[j] * factor, y + j);
  }
}
// The transpose of rows x d elements: d rows of `width`, zeros behind.
template <class T, class S>
static void load_transposed(const S* from, int64_t stride, int64_t rows, int64_t d, T* to, int64_t width) {
  constexpr int64_t kStep = 16;
  for (int64_t i = 0; i < at_most(kStep, rows); ++i) prefetch_row(from + i * stride, d);
  for (int64_t i = 0; i < rows; i += kStep) {
    for (int64_t p = i + kStep; p < at_most(i + 2 * kStep, rows); ++p) prefetch_row(from + p * stride, d);
    transpose_block(from + i * stride, stride, at_most(kStep, rows - i), d, to + i, width);
  }
  for (int64_t j = 0; j < d; ++j) zero_row(to + j * width + rows, at_most(width, up_to(rows, kMicroCols<T>)) - rows);
}

template <class T> static inline void fill(T* p, int64_t n, T x) {
  for (int64_t i = 0; i < n; ++i) p[i] = x;
}

// The workspace: aligned slots, one per thread.
template <class T> struct Slot {
  T* next;
  Slot(void* workspace, size_t slot_bytes) {
    const uintptr_t base = ((uintptr_t)workspace + 127) / 128 * 128;
    next = (T*)(base + size_t(thread_index()) * slot_bytes);
  }
  T* take(int64_t n) {
    T* p = next;
    next += up_to(n, 128 / int64_t(sizeof(T)));
    return p;
  }
};

}  // namespace dyadic::DY_ISA
