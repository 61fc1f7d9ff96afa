// Loops over contiguous rows for kernels compiled per instruction set: whole vectors, then one partial; sums over virtual
// lanes; reading and writing tiles of any float format in the compute type T (float or double).
//
// Note [Virtual lanes]: a sum has 128 bytes of lanes (32 floats, 16 doubles) whatever the vectors' width; element i goes to
// lane i mod 32 and the lanes are added as a tree of halves. The order of a sum therefore depends on its length alone, and is
// the same for every instruction set. Sums longer than kSumBlock add blocks of that length in double: 16 Mi floats to 1e-7.
#pragma once
#include "base/simd/simd.h"
#include "loops/operand.h"

namespace dyadic::DY_ISA {

inline constexpr int64_t kSumBlock = 4096;
template <class T> inline constexpr int64_t kSumLanes = 128 / sizeof(T);

// How a loop's body touches memory: whole vectors, or the first n lanes (the others load as zero).
template <class T> struct WholeVector {
  DY_INLINE Vec<T> load(const T* p) const { return Vec<T>::load(p); }
  DY_INLINE void store(T* p, Vec<T> v) const { v.store(p); }
  DY_INLINE Mask<T> only(Mask<T> m) const { return m; }  // without the lanes past the end
};
template <class T> struct PartVector {
  size_t n;
  DY_INLINE Vec<T> load(const T* p) const { return Vec<T>::load_n(p, n); }
  DY_INLINE void store(T* p, Vec<T> v) const { v.store_n(p, n); }
  DY_INLINE Mask<T> only(Mask<T> m) const { return m & Mask<T>::first_n(n); }
};

// Calls f(access, i) for each vector of n elements.
template <class T, class F> DY_INLINE void for_vectors(int64_t n, F&& f) {
  constexpr int64_t kSize = Vec<T>::size();
  int64_t i = 0;
  for (; i + kSize <= n; i += kSize) f(WholeVector<T>(), i);
  if (i < n) f(PartVector<T>{static_cast<size_t>(n - i)}, i);
}

// Adds K sums over n elements at once, Note [Virtual lanes]: f(access, i, terms) gives a vector of terms for each.
template <class T, int K, class F> DY_INLINE void lane_sums(int64_t n, T (&sums)[K], F&& f) {
  using V = Vec<T>;
  constexpr int64_t kSize = V::size(), kVectors = kSumLanes<T> / kSize;
  V sum[K][kVectors];
  for (int k = 0; k < K; k++) {
    for (int64_t j = 0; j < kVectors; j++) sum[k][j] = V(0);
  }
  int64_t i = 0;
  V term[K];
  for (; i + kSumLanes<T> <= n; i += kSumLanes<T>) {
    for (int64_t j = 0; j < kVectors; j++) {
      f(WholeVector<T>(), i + j * kSize, term);
      for (int k = 0; k < K; k++) sum[k][j] += term[k];
    }
  }
  for (int64_t j = 0; j < kVectors; j++, i += kSize) {
    if (i >= n) break;
    if (i + kSize <= n) {
      f(WholeVector<T>(), i, term);
      for (int k = 0; k < K; k++) sum[k][j] += term[k];
    } else {
      f(PartVector<T>{static_cast<size_t>(n - i)}, i, term);
      for (int k = 0; k < K; k++) sum[k][j] += select(Mask<T>::first_n(n - i), term[k], V(0));
    }
  }
  for (int k = 0; k < K; k++) {
    for (int64_t half = kVectors / 2; half > 0; half /= 2) {
      for (int64_t j = 0; j < half; j++) sum[k][j] += sum[k][j + half];
    }
    sums[k] = reduce_sum(sum[k][0]);
  }
}

// The largest of n elements, NaN left out (-inf if nothing is left).
template <class T> DY_INLINE T largest(const T* x, int64_t n) {
  using V = Vec<T>;
  constexpr int64_t kSize = V::size();
  const V lowest(-HUGE_VALF);
  V a = lowest, b = lowest, c = lowest, e = lowest;
  int64_t i = 0;
  auto take = [](V best, V x) { return select(x > best, x, best); };
  for (; i + 4 * kSize <= n; i += 4 * kSize) {
    a = take(a, V::load(x + i));
    b = take(b, V::load(x + i + kSize));
    c = take(c, V::load(x + i + 2 * kSize));
    e = take(e, V::load(x + i + 3 * kSize));
  }
  for (; i + kSize <= n; i += kSize) a = take(a, V::load(x + i));
  if (i < n) b = take(b, select(Mask<T>::first_n(n - i), V::load_n(x + i, n - i), lowest));
  return reduce_max(max(max(a, b), max(c, e)));
}

// Whether elements are stored as T, so that no decoding is needed.
template <class T> DY_INLINE bool stores(const Format* format) {
  return format->def->kind == Kind::floating && format->def->bits == 8 * static_cast<int>(sizeof(T));
}
DY_INLINE const void* element(Source x, int64_t at) {
  return static_cast<const char*>(x.data) + at * (x.format->def->bits / 8);
}
DY_INLINE void* element(Target y, int64_t at) { return static_cast<char*>(y.data) + at * (y.format->def->bits / 8); }

// Elements [at, at + n) as T: in place where they are stored as T, else decoded into the buffer.
template <class T> DY_INLINE const T* read_tile(Source x, int64_t at, int64_t n, T* buffer) {
  if (stores<T>(x.format)) return static_cast<const T*>(x.data) + at;
  x.format->def->decode(element(x, at), buffer, n);
  return buffer;
}
// Where to compute elements [at, at + n) of y, and their encoding if that was the buffer.
template <class T> DY_INLINE T* open_tile(Target y, int64_t at, T* buffer) {
  return stores<T>(y.format) ? static_cast<T*>(y.data) + at : buffer;
}
template <class T> DY_INLINE void close_tile(Target y, int64_t at, int64_t n, const T* buffer) {
  if (!stores<T>(y.format)) y.format->def->encode(buffer, element(y, at), n, Round{});
}

// Tiles of one row that several passes read: a row of one tile is decoded once. Tiles are `kTile<T>` long; nothing decodes to
// double, so those need no buffer.
template <class T> inline constexpr int64_t kTile = sizeof(T) == 4 ? kSumBlock : 1;
template <class T> struct RowTiles {
  Source x;
  int64_t row;  // index of the row's first element
  T* buffer;    // kTile<T> elements
  int64_t held = -1;

  // Elements [i, i + n) of the row, i a multiple of kSumBlock, n <= kSumBlock; valid until the next call.
  DY_INLINE const T* read(int64_t i, int64_t n) {
    if (stores<T>(x.format)) return static_cast<const T*>(x.data) + row + i;
    if (held != i) x.format->def->decode(element(x, row + i), buffer, n);
    held = i;
    return buffer;
  }
};
// Calls f(i, n) for the blocks of a row.
template <class F> DY_INLINE void for_blocks(int64_t n, F&& f) {
  for (int64_t i = 0; i < n; i += kSumBlock) f(i, n - i < kSumBlock ? n - i : kSumBlock);
}

// How many elements ahead a pass over a row fetches, so that the next row's first pass doesn't wait for memory while the passes
// after it leave memory idle: softmax of 4096 x 4096 f32 goes from 0.73 to 0.97 of a copy's speed.
DY_INLINE int64_t next_row(int64_t n) { return n > 8192 || n < 1024 ? 1024 : n; }

// A parameter vector as T: where it lies, or decoded into `buffer`; null stays null.
template <class T> DY_INLINE const T* whole(Source x, int64_t n, T* buffer) {
  return x.data ? read_tile(x, 0, n, buffer) : nullptr;
}
template <class T> DY_INLINE T scalar_log(T x) { return hn::GetLane(log(Vec<T>(x)).v); }
template <class T> DY_INLINE T scalar_exp(T x) { return hn::GetLane(exp(Vec<T>(x)).v); }

DY_INLINE int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }
DY_INLINE int64_t max_of(int64_t a, int64_t b) { return a > b ? a : b; }

}  // namespace dyadic::DY_ISA
