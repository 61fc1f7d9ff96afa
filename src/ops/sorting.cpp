#include "ops/sort/sorting.h"

#include <algorithm>
#include <cstring>

namespace dyadic::inline v1::ops {
namespace {

constexpr int64_t kTile = 1024, kRadixLeast = 192;
constexpr int64_t kLongRow = 1 << 17, kPieces = 16;  // one long row is cut into so many pieces

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

uint32_t ordered(float x) {
  if (x != x) return ~0u;
  const auto u = __builtin_bit_cast(uint32_t, x + 0.0f);  // -0 becomes 0
  return u & 0x80000000u ? ~u : u | 0x80000000u;
}
uint64_t ordered(double x) {
  if (x != x) return ~uint64_t{0};
  const auto u = __builtin_bit_cast(uint64_t, x + 0.0);
  return u >> 63 ? ~u : u | uint64_t{1} << 63;
}

// How a format's values become keys.
struct Keys {
  const Format* format;
  Compute compute;
  int bytes;       // of a key that differ at all, the upper ones of floats: bf16 and f8 have 16 bits as f32, f16 has 19
  bool ascending;  // else inverted
};
Keys keys_of(DType d, bool ascending) {
  const Format& f = *d.format();
  const int bits = f.def->bits;
  const int whole = bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
  const int real = bits > 32 ? 8 : bits > 16 ? 4 : f.def->mantissa_bits <= 7 ? 2 : 3;
  return {&f, f.compute(), f.def->kind == Kind::floating ? real : whole, ascending};
}

template <class K> K nan_key(const Keys& k) { return K(~K{0}) >> (8 * (int(sizeof(K)) - k.bytes)); }

// n keys of a run of stored elements.
template <class K> void make_keys(const Keys& k, const char* x, int64_t n, K* keys) {
  alignas(64) char buffer[kTile * 8];
  const int64_t width = k.format->itemsize();
  const bool is_float = k.format->def->kind == Kind::floating, is_unsigned = k.format->def->kind != Kind::sint;
  const K invert = k.ascending ? 0 : nan_key<K>(k);
  const K bias = is_unsigned ? 0 : K(1) << (8 * k.bytes - 1);
  for (int64_t at = 0; at < n; at += kTile) {
    const int64_t m = std::min(kTile, n - at);
    k.format->def->decode(x + at * width, buffer, m);
    K* out = keys + at;
    if constexpr (sizeof(K) == 4) {
      if (is_float) {
        const auto* v = reinterpret_cast<const float*>(buffer);
        const int shift = 32 - 8 * k.bytes;
        for (int64_t i = 0; i < m; ++i) out[i] = (ordered(v[i]) >> shift) ^ invert;
      } else if (k.compute == Compute::i32) {
        const auto* v = reinterpret_cast<const int32_t*>(buffer);
        for (int64_t i = 0; i < m; ++i) out[i] = (uint32_t(v[i]) + bias) ^ invert;
      } else {
        const auto* v = reinterpret_cast<const int64_t*>(buffer);
        for (int64_t i = 0; i < m; ++i) out[i] = (uint32_t(v[i]) + bias) ^ invert;
      }
    } else if (is_float) {
      const auto* v = reinterpret_cast<const double*>(buffer);
      for (int64_t i = 0; i < m; ++i) out[i] = ordered(v[i]) ^ invert;
    } else {
      const auto* v = reinterpret_cast<const int64_t*>(buffer);
      for (int64_t i = 0; i < m; ++i) out[i] = (uint64_t(v[i]) + bias) ^ invert;
    }
  }
}

template <class K> void pack(const Keys& k, const char* x, int64_t begin, int64_t end, typename Packed<K>::P* out) {
  using P = typename Packed<K>::P;
  K keys[kTile];
  const int64_t width = k.format->itemsize();
  for (int64_t at = begin; at < end; at += kTile) {
    const int64_t m = std::min(kTile, end - at);
    make_keys(k, x + at * width, m, keys);
    for (int64_t i = 0; i < m; ++i) out[at + i] = P(keys[i]) << Packed<K>::kShift | P(at + i);
  }
}

// One pass of a radix sort over byte `byte` of the key; pieces of the row are counted and moved on their own.
struct Histogram {
  int64_t count[kPieces][256];
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
    move_pass(a, spare, n, kPieces, kShift + 8 * b, h);
    std::swap(a, spare);
  }
  return a;
}

template <class T> void pick_as(const char* x, const int64_t* index, int64_t n, char* out) {
  const T* from = reinterpret_cast<const T*>(x);
  T* to = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = from[index[i]];
}
void pick(const char* x, const int64_t* index, int64_t n, int64_t width, char* out) {
  if (width == 1) return pick_as<uint8_t>(x, index, n, out);
  if (width == 2) return pick_as<uint16_t>(x, index, n, out);
  if (width == 4) return pick_as<uint32_t>(x, index, n, out);
  pick_as<uint64_t>(x, index, n, out);
}

// Runs body(row's elements, packed numbers, spare room, values, indices) for every row, rows on several threads unless they are
// long and few.
template <class K, class Body>
void for_rows(const Tensor& x, int64_t columns, const Tensor& values, const Tensor& indices, void* workspace, Body&& body) {
  using P = typename Packed<K>::P;
  const Rows rows = rows_of(x);
  const int64_t width = x.dtype().itemsize();
  auto run = [&](int64_t r, int64_t slot) {
    P* a = static_cast<P*>(workspace) + slot * 2 * rows.size;
    body(x.impl()->data() + r * rows.size * width, a, a + rows.size, values.impl()->data() + r * columns * width,
         indices.data<int64_t>() + r * columns);
  };
  if (rows.size >= kLongRow) {
    for (int64_t r = 0; r < rows.count; ++r) run(r, 0);
    return;
  }
  parallel_for(rows.count, std::max<int64_t>(1, 4096 / std::max<int64_t>(rows.size, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) run(r, rows.count == 1 ? 0 : thread_index());
  });
}

template <class K> void pack_row(const Keys& k, const char* x, int64_t n, typename Packed<K>::P* a) {
  if (n < kLongRow) return pack<K>(k, x, 0, n, a);
  parallel_for((n + kTile - 1) / kTile, 16,
               [&](int64_t begin, int64_t end) { pack<K>(k, x, begin * kTile, std::min(n, end * kTile), a); });
}
template <class P> void write_result(const char* x, const P* a, int64_t n, int64_t width, char* values, int64_t* indices) {
  parallel_for(n, 1 << 15, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) indices[i] = int64_t(uint32_t(a[i]));
    pick(x, indices + begin, end - begin, width, values + begin * width);
  });
}

template <class K>
void sort_as(const Tensor& x, bool descending, const Tensor& values, const Tensor& indices, void* workspace) {
  const Keys k = keys_of(x.dtype(), !descending);
  const int64_t n = rows_of(x).size, width = x.dtype().itemsize();
  for_rows<K>(x, n, values, indices, workspace, [&](const char* row, auto* a, auto* spare, char* v, int64_t* i) {
    pack_row<K>(k, row, n, a);
    write_result(row, sort_packed<K>(a, spare, n, k.bytes), n, width, v, i);
  });
}

// The k smallest of a row, sorted, in `best`, which has room for 2 k + kTile of them: what is larger than the k-th so far is
// passed over, a block at a time.
template <class K> void smallest_of_row(const Keys& k, const char* x, int64_t n, int64_t wanted, typename Packed<K>::P* best) {
  using P = typename Packed<K>::P;
  constexpr int64_t kBlock = 32;
  K keys[kTile];
  K limit = K(~K{0});
  int64_t held = 0;
  const int64_t width = k.format->itemsize(), room = 2 * wanted + kBlock;
  for (int64_t at = 0; at < n; at += kTile) {
    const int64_t m = std::min(kTile, n - at);
    make_keys(k, x + at * width, m, keys);
    for (int64_t b = 0; b < m; b += kBlock) {
      const int64_t end = std::min(m, b + kBlock);
      K any = 0;
      for (int64_t i = b; i < end; ++i) any |= K(keys[i] <= limit);
      if (!any) continue;
      for (int64_t i = b; i < end; ++i)
        if (keys[i] <= limit) best[held++] = P(keys[i]) << Packed<K>::kShift | P(at + i);
      if (held + kBlock <= room) continue;
      std::nth_element(best, best + wanted - 1, best + held);
      held = wanted;
      limit = K(best[wanted - 1] >> Packed<K>::kShift);
    }
  }
  std::nth_element(best, best + wanted - 1, best + held);
  std::sort(best, best + wanted);
}

template <class K>
void top_as(const Tensor& x, int64_t count, bool largest, const Tensor& values, const Tensor& indices, void* workspace) {
  const Keys k = keys_of(x.dtype(), !largest);
  const int64_t n = rows_of(x).size, width = x.dtype().itemsize();
  if (count == 0) return;
  for_rows<K>(x, count, values, indices, workspace, [&](const char* row, auto* a, auto* spare, char* v, int64_t* i) {
    if (2 * count + 64 > n) {
      pack_row<K>(k, row, n, a);
      a = sort_packed<K>(a, spare, n, k.bytes);
    } else {
      smallest_of_row<K>(k, row, n, count, a);
    }
    write_result(row, a, count, width, v, i);
  });
}

template <class K> void kth_as(const Tensor& x, int64_t wanted, const Tensor& values, const Tensor& indices, void* workspace) {
  const Keys k = keys_of(x.dtype(), true);
  const int64_t n = rows_of(x).size, width = x.dtype().itemsize();
  const K nan = nan_key<K>(k);
  const bool may_be_nan = k.format->def->kind == Kind::floating;
  for_rows<K>(x, 1, values, indices, workspace, [&](const char* row, auto* a, auto*, char* v, int64_t* i) {
    pack_row<K>(k, row, n, a);
    int64_t at = wanted, nans = 0;
    if (wanted < 0) {
      for (int64_t j = 0; may_be_nan && j < n; ++j) nans += K(a[j] >> Packed<K>::kShift) == nan;
      at = wanted == kMedian ? (nans ? n - nans : (n - 1) / 2) : (std::max<int64_t>(n - nans, 1) - 1) / 2;
    }
    std::nth_element(a, a + at, a + n);
    write_result(row, a + at, 1, width, v, i);
  });
}

template <class K> void mode_as(const Tensor& x, const Tensor& values, const Tensor& indices, void* workspace) {
  const Keys k = keys_of(x.dtype(), true);
  const int64_t n = rows_of(x).size, width = x.dtype().itemsize();
  const bool may_be_nan = k.format->def->kind == Kind::floating;
  for_rows<K>(x, 1, values, indices, workspace, [&](const char* row, auto* a, auto* spare, char* v, int64_t* i) {
    pack_row<K>(k, row, n, a);
    a = sort_packed<K>(a, spare, n, k.bytes);
    auto key = [&](int64_t j) { return K(a[j] >> Packed<K>::kShift); };
    auto alike = [&](int64_t i, int64_t j) { return key(i) == key(j) && !(may_be_nan && key(j) == nan_key<K>(k)); };
    int64_t longest = 0, best = 0;
    for (int64_t from = 0, j = 1; j <= n; ++j) {
      if (j < n && alike(from, j)) continue;
      if (j - from > longest) longest = j - from, best = j - 1;
      from = j;
    }
    // Each NaN is a value of its own; of values that all come once it is the first, as in PyTorch.
    int64_t numbers = n;
    while (may_be_nan && longest == 1 && numbers > 0 && key(numbers - 1) == nan_key<K>(k)) --numbers;
    write_result(row, a + (numbers < n ? numbers : best), 1, width, v, i);
  });
}

bool wide_keys(const Tensor& x) { return keys_of(x.dtype(), true).bytes == 8; }

}  // namespace

Rows rows_of(const Tensor& t) {
  const int64_t n = t.dim() ? t.size(-1) : 1;
  int64_t count = 1;
  for (int64_t d = 0; d + 1 < t.dim(); ++d) count *= t.size(d);
  return {count, n};
}
int64_t order_workspace(const Tensor& x) {
  const Rows r = rows_of(x);
  if (r.count * r.size == 0) return 0;
  const int64_t slots = r.count == 1 || r.size >= kLongRow ? 1 : num_threads();
  return slots * 2 * r.size * (wide_keys(x) ? 16 : 8);
}
void check_order(const Call& c) {
  DY_CHECK(rows_of(c.tensor(0)).size < int64_t{1} << 32, "{}: the dimension is too long: self is {}", c.name,
           describe(c.tensor(0)));
}

void sort_rows(const Tensor& x, bool descending, const Tensor& values, const Tensor& indices, void* workspace) {
  if (x.numel() == 0) return;
  (wide_keys(x) ? sort_as<uint64_t> : sort_as<uint32_t>)(x, descending, values, indices, workspace);
}
void top_rows(const Tensor& x, int64_t k, bool largest, const Tensor& values, const Tensor& indices, void* workspace) {
  if (x.numel() == 0) return;
  (wide_keys(x) ? top_as<uint64_t> : top_as<uint32_t>)(x, k, largest, values, indices, workspace);
}
void kth_rows(const Tensor& x, int64_t k, const Tensor& values, const Tensor& indices, void* workspace) {
  if (x.numel() == 0) return;
  (wide_keys(x) ? kth_as<uint64_t> : kth_as<uint32_t>)(x, k, values, indices, workspace);
}
void mode_rows(const Tensor& x, const Tensor& values, const Tensor& indices, void* workspace) {
  if (x.numel() == 0) return;
  (wide_keys(x) ? mode_as<uint64_t> : mode_as<uint32_t>)(x, values, indices, workspace);
}

Tensor to_last(const Tensor& t, int64_t dim) { return t.dim() < 2 ? t : movedim(t, {dim}, {-1}); }
Tensor from_last(const Tensor& t, int64_t dim) { return t.dim() < 2 ? t : contiguous(movedim(t, {-1}, {dim})); }
Tensor picked_gradient(const Tensor& g, const Tensor& indices, const Meta& input, int64_t dim) {
  return scatter(zeros(input.shape(), g.dtype(), input.device), dim, indices, g);
}

}  // namespace dyadic::inline v1::ops
