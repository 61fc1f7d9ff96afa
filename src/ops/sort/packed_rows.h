// A row as keys packed with their indices, and sorting it: by comparison, by radix, and a long one by radix in pieces.
#pragma once
#include <algorithm>
#include <cstring>

#include "ops/common.h"
#include "ops/sort/order_kernel.h"

namespace dyadic::inline v1::ops {

inline constexpr int64_t kTile = 1024, kRadixLeast = 192;

using Wide = unsigned __int128;

// Key and index as one number.
template <class K> struct Packed;
template <> struct Packed<uint32_t> {
  using P = uint64_t;
  static constexpr int kShift = 32;
};
template <> struct Packed<uint64_t> {
  using P = Wide;
  static constexpr int kShift = 64;
};
template <class K> typename Packed<K>::P packed(K key, int64_t index) {
  using P = typename Packed<K>::P;
  return P(key) << Packed<K>::kShift | P(index);
}

template <class K> const KeyKernel<K>& kernel() {
  if constexpr (sizeof(K) == 4)
    return order_kernel().narrow;
  else
    return order_kernel().wide;
}

inline Keys keys_of(DType d, bool ascending) {
  const Format& f = *d.format();
  const int bits = f.def->bits;
  const int whole = bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
  const int real = bits > 32 ? 8 : bits > 16 ? 4 : f.def->mantissa_bits <= 7 ? 2 : 3;
  return {&f, f.def->kind == Kind::floating ? real : whole, ascending};
}
template <class K> K nan_key(const Keys& k) { return K(~K{0}) >> (8 * (int(sizeof(K)) - k.bytes)); }

// f(begin, end) for parts of a row, on several threads if it is long.
template <class F> void for_parts(int64_t n, F&& f) {
  if (n < kLongRow) return f(int64_t{0}, n);
  parallel_for((n + kTile - 1) / kTile, 16, [&](int64_t begin, int64_t end) { f(begin * kTile, std::min(n, end * kTile)); });
}
template <class K> void make_keys(const Keys& k, const char* x, int64_t n, K* keys) {
  for_parts(
      n, [&](int64_t begin, int64_t end) { kernel<K>().make(k, x + begin * k.format->itemsize(), end - begin, keys + begin); });
}
template <class K> void pack_row(const Keys& k, const char* x, int64_t n, typename Packed<K>::P* a) {
  for_parts(n, [&](int64_t begin, int64_t end) {
    K keys[kTile];
    for (int64_t at = begin; at < end; at += kTile) {
      const int64_t m = std::min(kTile, end - at);
      kernel<K>().make(k, x + at * k.format->itemsize(), m, keys);
      for (int64_t i = 0; i < m; ++i) a[at + i] = packed(keys[i], at + i);
    }
  });
}

// One pass of a radix sort over byte `byte` of the key; pieces of the row are counted and moved on their own.
struct Histogram {
  int64_t count[kRowPieces][256];
};
template <class P> void move_pass(const P* from, P* to, int64_t n, int64_t pieces, int shift, Histogram& h) {
  const int64_t size = (n + pieces - 1) / pieces;
  auto bounds = [&](int64_t p) { return std::pair(std::min(n, p * size), std::min(n, (p + 1) * size)); };
  parallel_for(pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      std::fill_n(h.count[p], 256, 0);
      for (auto [i, end] = bounds(p); i < end; ++i) ++h.count[p][uint8_t(from[i] >> shift)];
    }
  });
  int64_t at = 0;
  for (int b = 0; b < 256; ++b)
    for (int64_t p = 0; p < pieces; ++p) at += std::exchange(h.count[p][b], at);
  parallel_for(pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      int64_t* next = h.count[p];
      for (auto [i, end] = bounds(p); i < end; ++i) to[next[uint8_t(from[i] >> shift)]++] = from[i];
    }
  });
}

// The same for a short row: all counts are taken at once, bytes in which all keys agree are left out.
template <class P> P* radix_sort(P* a, P* spare, int64_t n, int first_bit, int bytes) {
  uint32_t count[8][256];
  std::memset(count, 0, sizeof(count[0]) * size_t(bytes));
  for (int64_t i = 0; i < n; ++i) {
    const auto key = uint64_t(a[i] >> first_bit);
    for (int b = 0; b < bytes; ++b) ++count[b][uint8_t(key >> 8 * b)];
  }
  for (int b = 0; b < bytes; ++b) {
    const int shift = first_bit + 8 * b;
    uint32_t* c = count[b];
    if (c[uint8_t(a[0] >> shift)] == n) continue;
    uint32_t at = 0;
    for (int v = 0; v < 256; ++v) at += std::exchange(c[v], at);
    for (int64_t i = 0; i < n; ++i) spare[c[uint8_t(a[i] >> shift)]++] = a[i];
    std::swap(a, spare);
  }
  return a;
}

// Sorts a row of packed numbers; returns where it lies, in a or in spare.
template <class K> auto* sort_packed(typename Packed<K>::P* a, typename Packed<K>::P* spare, int64_t n, int bytes) {
  constexpr int kShift = Packed<K>::kShift;
  if (n < kRadixLeast) {
    std::sort(a, a + n);
    return a;
  }
  if (n < kLongRow) return radix_sort(a, spare, n, kShift, bytes);
  Histogram h;
  for (int b = 0; b < bytes; ++b) {
    move_pass(a, spare, n, kRowPieces, kShift + 8 * b, h);
    std::swap(a, spare);
  }
  return a;
}

}  // namespace dyadic::inline v1::ops
