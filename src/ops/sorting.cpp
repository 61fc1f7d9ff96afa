#include "ops/sort/sorting.h"

#include <algorithm>
#include <cstring>

#include "ops/sort/order_kernel.h"

namespace dyadic::inline v1::ops {
namespace {

constexpr int64_t kTile = 1024, kRadixLeast = 192;
constexpr int64_t kFewRanks = 16;  // so many of a row are found one by one, more in the sorted row

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

Keys keys_of(DType d, bool ascending) {
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

// Runs body(row number, its elements, `room` bytes of workspace) for every row, rows on several threads unless they are long.
template <class Body> void for_rows(const Tensor& x, void* workspace, int64_t room, Body&& body) {
  const Rows rows = rows_of(x);
  const int64_t bytes = rows.size * x.dtype().itemsize();
  auto run = [&](int64_t r, int64_t slot) {
    body(r, x.impl()->data() + r * bytes, static_cast<char*>(workspace) + slot * room);
  };
  if (rows.size >= kLongRow) {
    for (int64_t r = 0; r < rows.count; ++r) run(r, 0);
    return;
  }
  parallel_for(rows.count, std::max<int64_t>(1, 4096 / std::max<int64_t>(rows.size, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) run(r, rows.count == 1 ? 0 : thread_index());
  });
}
int64_t slots(const Rows& r) { return r.count == 1 || r.size >= kLongRow ? 1 : num_threads(); }
template <class K> int64_t sorting_room(int64_t n) { return 2 * n * int64_t(sizeof(typename Packed<K>::P)); }
template <class K> int64_t choosing_room(int64_t n) { return 2 * n * int64_t(sizeof(K)); }

// Where results go: `columns` values and indices per row.
struct Results {
  const Tensor &values, &indices;
  int64_t columns, width;
  Results(const Tensor& v, const Tensor& i, int64_t columns)
      : values(v), indices(i), columns(columns), width(v.dtype().itemsize()) {}
  int64_t* index(int64_t row) const { return indices.data<int64_t>() + row * columns; }
  // The values that a row's indices name.
  void pick_values(int64_t row, const char* x) const {
    parallel_for(columns, 1 << 15, [&](int64_t begin, int64_t end) {
      pick(x, index(row) + begin, end - begin, width, values.impl()->data() + (row * columns + begin) * width);
    });
  }
  template <class P> void write(int64_t row, const char* x, const P* a) const {
    int64_t* to = index(row);
    parallel_for(columns, 1 << 15, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = int64_t(uint32_t(a[i]));
    });
    pick_values(row, x);
  }
};

template <class K> auto* sort_row(const Keys& k, const char* x, int64_t n, char* memory) {
  auto* a = reinterpret_cast<typename Packed<K>::P*>(memory);
  pack_row<K>(k, x, n, a);
  return sort_packed<K>(a, a + n, n, k.bytes);
}

template <class K> void sort_as(const Tensor& x, bool descending, const Results& out, void* workspace) {
  const Keys k = keys_of(x.dtype(), !descending);
  const int64_t n = rows_of(x).size;
  for_rows(x, workspace, sorting_room<K>(n),
           [&](int64_t r, const char* row, char* memory) { out.write(r, row, sort_row<K>(k, row, n, memory)); });
}

// The `wanted` smallest of a row (fewer than half of it), sorted: what is not above the last of them is kept, and of its equals
// the first.
template <class K> auto* smallest_of_row(const Keys& k, const char* x, int64_t n, int64_t wanted, char* memory) {
  K *keys = reinterpret_cast<K*>(memory), *spare = keys + n, *kept = spare + n, *places = kept + n;
  make_keys(k, x, n, keys);
  const K last = kernel<K>().kth(keys, n, wanted - 1, spare);
  const int64_t m = kernel<K>().up_to(keys, n, last, kept, places);
  auto* best = reinterpret_cast<typename Packed<K>::P*>(memory);  // over keys and spare
  int64_t equals = wanted - kernel<K>().count_below(kept, m, last), held = 0;
  for (int64_t i = 0; i < m; ++i)
    if (kept[i] != last || equals-- > 0) best[held++] = packed(kept[i], int64_t(places[i]));
  return sort_packed<K>(best, best + wanted, wanted, k.bytes);
}
template <class K> void top_as(const Tensor& x, bool largest, const Results& out, void* workspace) {
  const Keys k = keys_of(x.dtype(), !largest);
  const int64_t n = rows_of(x).size, count = out.columns;
  if (count == 0) return;
  for_rows(x, workspace, sorting_room<K>(n), [&](int64_t r, const char* row, char* memory) {
    out.write(r, row, 2 * count + 64 > n ? sort_row<K>(k, row, n, memory) : smallest_of_row<K>(k, row, n, count, memory));
  });
}

// The index of a row's element of rank `at`.
template <class K> int64_t index_of_rank(const K* keys, int64_t n, int64_t at, K* spare) {
  const K key = kernel<K>().kth(keys, n, at, spare);
  return kernel<K>().find(keys, n, key, at - kernel<K>().count_below(keys, n, key));
}
template <class K> void kth_as(const Tensor& x, int64_t wanted, const Results& out, void* workspace) {
  const Keys k = keys_of(x.dtype(), true);
  const int64_t n = rows_of(x).size;
  const bool may_be_nan = k.format->def->kind == Kind::floating;
  for_rows(x, workspace, choosing_room<K>(n), [&](int64_t r, const char* row, char* memory) {
    K* keys = reinterpret_cast<K*>(memory);
    make_keys(k, row, n, keys);
    int64_t at = wanted;
    if (wanted < 0) {
      const int64_t numbers = may_be_nan ? kernel<K>().count_below(keys, n, nan_key<K>(k)) : n;
      at = wanted == kNanMedian || numbers == n ? (std::max<int64_t>(numbers, 1) - 1) / 2 : numbers;
    }
    *out.index(r) = index_of_rank(keys, n, at, keys + n);
    out.pick_values(r, row);
  });
}
template <class K> void ranked_as(const Tensor& x, const int64_t* ranks, const Results& out, void* workspace) {
  const Keys k = keys_of(x.dtype(), true);
  const int64_t n = rows_of(x).size;
  const bool sorted = out.columns > kFewRanks;
  for_rows(x, workspace, sorted ? sorting_room<K>(n) : choosing_room<K>(n), [&](int64_t r, const char* row, char* memory) {
    const int64_t* rank = ranks + r * out.columns;
    if (sorted) {
      const auto* a = sort_row<K>(k, row, n, memory);
      for (int64_t i = 0; i < out.columns; ++i) out.index(r)[i] = int64_t(uint32_t(a[rank[i]]));
    } else {
      K* keys = reinterpret_cast<K*>(memory);
      make_keys(k, row, n, keys);
      for (int64_t i = 0; i < out.columns; ++i) out.index(r)[i] = index_of_rank(keys, n, rank[i], keys + n);
    }
    out.pick_values(r, row);
  });
}

template <class K> void mode_as(const Tensor& x, const Results& out, void* workspace) {
  const Keys k = keys_of(x.dtype(), true);
  const int64_t n = rows_of(x).size;
  const bool may_be_nan = k.format->def->kind == Kind::floating;
  for_rows(x, workspace, sorting_room<K>(n), [&](int64_t r, const char* row, char* memory) {
    const auto* a = sort_row<K>(k, row, n, memory);
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
    out.write(r, row, a + (numbers < n ? numbers : best));
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
  return slots(r) * (wide_keys(x) ? sorting_room<uint64_t> : sorting_room<uint32_t>)(r.count ? r.size : 0);
}
int64_t choose_workspace(const Tensor& x, int64_t ranks) {
  if (ranks > kFewRanks) return order_workspace(x);
  const Rows r = rows_of(x);
  return slots(r) * (wide_keys(x) ? choosing_room<uint64_t> : choosing_room<uint32_t>)(r.count ? r.size : 0);
}
void check_order(const Call& c) {
  DY_CHECK(rows_of(c.tensor(0)).size < int64_t{1} << 32, "{}: the dimension is too long: self is {}", c.name,
           describe(c.tensor(0)));
}

void sort_rows(const Tensor& x, bool descending, const Tensor& values, const Tensor& indices, void* workspace) {
  if (x.numel() == 0) return;
  (wide_keys(x) ? sort_as<uint64_t> : sort_as<uint32_t>)(x, descending, {values, indices, rows_of(x).size}, workspace);
}
void top_rows(const Tensor& x, int64_t k, bool largest, const Tensor& values, const Tensor& indices, void* workspace) {
  if (x.numel() == 0) return;
  (wide_keys(x) ? top_as<uint64_t> : top_as<uint32_t>)(x, largest, {values, indices, k}, workspace);
}
void kth_rows(const Tensor& x, int64_t k, const Tensor& values, const Tensor& indices, void* workspace) {
  if (x.numel() == 0) return;
  (wide_keys(x) ? kth_as<uint64_t> : kth_as<uint32_t>)(x, k, {values, indices, 1}, workspace);
}
void ranked_rows(const Tensor& x, const Tensor& ranks, const Tensor& values, const Tensor& indices, void* workspace) {
  if (x.numel() == 0 || ranks.numel() == 0) return;
  (wide_keys(x) ? ranked_as<uint64_t> : ranked_as<uint32_t>)(x, ranks.data<int64_t>(), {values, indices, rows_of(ranks).size},
                                                             workspace);
}
void mode_rows(const Tensor& x, const Tensor& values, const Tensor& indices, void* workspace) {
  if (x.numel() == 0) return;
  (wide_keys(x) ? mode_as<uint64_t> : mode_as<uint32_t>)(x, {values, indices, 1}, workspace);
}

Tensor to_last(const Tensor& t, int64_t dim) { return t.dim() < 2 ? t : movedim(t, {dim}, {-1}); }
Tensor from_last(const Tensor& t, int64_t dim) { return t.dim() < 2 ? t : contiguous(movedim(t, {-1}, {dim})); }
Tensor picked_gradient(const Tensor& g, const Tensor& indices, const Meta& input, int64_t dim) {
  return scatter(zeros(input.shape(), g.dtype(), input.device), dim, indices, g);
}
Tensor shared_by_ties(const Tensor& t, const Tensor& value) {
  if (!t.requires_grad() || !GradMode::enabled() || t.is_meta()) return value;
  const Tensor x = t.detach();
  return amax(masked_select(t, logical_or(eq(x, value), logical_and(isnan(x), isnan(value)))));
}

}  // namespace dyadic::inline v1::ops
