#include "ops/sort/sorting.h"

#include "ops/sort/packed_rows.h"

namespace dyadic::inline v1::ops {
namespace {

constexpr int64_t kShortRow = 32;
constexpr int64_t kFew = 8;        // so many of a short row are found while it is passed over
constexpr int64_t kFewRanks = 16;  // so many of a row are found one by one, more in the sorted row

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
  // A short row's indices and the values that they name.
  void put(int64_t row, const char* x, const int64_t* from) const {
    std::copy_n(from, columns, index(row));
    pick(x, from, columns, width, values.impl()->data() + row * columns * width);
  }
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

// Runs body(row number, its elements, their keys) for rows of which many fit into a tile, whose keys are made at once.
template <class K, class Body> void for_tiled_rows(const Keys& k, const Tensor& x, Body&& body) {
  const Rows rows = rows_of(x);
  const int64_t n = rows.size, bytes = n * k.format->itemsize(), group = kTile / n;
  parallel_for((rows.count + group - 1) / group, 4, [&](int64_t begin, int64_t end) {
    K keys[kTile];
    for (int64_t first = begin * group; first < std::min(rows.count, end * group); first += group) {
      const int64_t count = std::min(group, rows.count - first);
      const char* row = x.impl()->data() + first * bytes;
      kernel<K>().make(k, row, n * count, keys);
      for (int64_t r = 0; r < count; ++r) body(first + r, row + r * bytes, keys + r * n);
    }
  });
}
// Short rows: an element goes where so many others are before it, without a branch that the processor would have to guess.
// body(row number, its elements, their keys, their indices in order).
template <class K, class Body> bool short_rows(const Keys& k, const Tensor& x, Body&& body) {
  const int64_t n = rows_of(x).size;
  if (n > kShortRow) return false;
  for_tiled_rows<K>(k, x, [&](int64_t r, const char* row, const K* key) {
    uint32_t rank[kShortRow];
    int64_t order[kShortRow];
    for (int64_t i = 0; i < n; ++i) {
      rank[i] = 0;
      for (int64_t j = 0; j < i; ++j) {
        const bool before = key[i] < key[j];
        rank[j] += before, rank[i] += !before;
      }
    }
    for (int64_t i = 0; i < n; ++i) order[rank[i]] = i;
    body(r, row, key, order);
  });
  return true;
}

template <class K> void sort_as(const Tensor& x, bool descending, const Results& out, void* workspace) {
  const Keys k = keys_of(x.dtype(), !descending);
  if (short_rows<K>(k, x, [&](int64_t r, const char* row, const K*, const int64_t* order) { out.put(r, row, order); })) return;
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
// A few of each row: kept in order while the row is passed over.
template <class K> bool few_of_rows(const Keys& k, const Tensor& x, const Results& out) {
  const int64_t n = rows_of(x).size, count = out.columns;
  if (count > kFew || n > kTile) return false;
  for_tiled_rows<K>(k, x, [&](int64_t r, const char* row, const K* key) {
    K best[kFew];
    int64_t index[kFew], held = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (held == count && key[i] >= best[count - 1]) continue;
      int64_t at = held < count ? held++ : count - 1;
      for (; at > 0 && key[i] < best[at - 1]; --at) best[at] = best[at - 1], index[at] = index[at - 1];
      best[at] = key[i], index[at] = i;
    }
    out.put(r, row, index);
  });
  return true;
}
template <class K> void top_as(const Tensor& x, bool largest, const Results& out, void* workspace) {
  const Keys k = keys_of(x.dtype(), !largest);
  const int64_t n = rows_of(x).size, count = out.columns;
  if (count == 0) return;
  if (few_of_rows<K>(k, x, out)) return;
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
  auto rank = [&](int64_t numbers) {  // of the wanted one, where so many are no NaN
    if (wanted >= 0) return wanted;
    return wanted == kNanMedian || numbers == n ? (std::max<int64_t>(numbers, 1) - 1) / 2 : numbers;
  };
  auto of_short = [&](int64_t r, const char* row, const K* key, const int64_t* order) {
    int64_t numbers = n;
    while (may_be_nan && numbers > 0 && key[order[numbers - 1]] == nan_key<K>(k)) --numbers;
    out.put(r, row, order + rank(numbers));
  };
  if (short_rows<K>(k, x, of_short)) return;
  for_rows(x, workspace, choosing_room<K>(n), [&](int64_t r, const char* row, char* memory) {
    K* keys = reinterpret_cast<K*>(memory);
    make_keys(k, row, n, keys);
    const int64_t numbers = wanted < 0 && may_be_nan ? kernel<K>().count_below(keys, n, nan_key<K>(k)) : n;
    *out.index(r) = index_of_rank(keys, n, rank(numbers), keys + n);
    out.pick_values(r, row);
  });
}
template <class K> void ranked_as(const Tensor& x, const int64_t* ranks, const Results& out, void* workspace) {
  const Keys k = keys_of(x.dtype(), true);
  const int64_t n = rows_of(x).size;
  auto of_short = [&](int64_t r, const char* row, const K*, const int64_t* order) {
    for (int64_t i = 0; i < out.columns; ++i) out.index(r)[i] = order[ranks[r * out.columns + i]];
    out.pick_values(r, row);
  };
  if (short_rows<K>(k, x, of_short)) return;
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

// The place in order of the value that comes most often, key(j) being the j-th key; nan: NaN's, if there may be any.
template <class K, class Key> int64_t most_often(int64_t n, const K* nan, Key&& key) {
  auto is_nan = [&](int64_t j) { return nan && key(j) == *nan; };
  int64_t longest = 0, best = 0;
  for (int64_t from = 0, j = 1; j <= n; ++j) {
    if (j < n && key(from) == key(j) && !is_nan(j)) continue;
    if (j - from > longest) longest = j - from, best = j - 1;
    from = j;
  }
  // Each NaN is a value of its own; of values that all come once it is the first, as in PyTorch.
  int64_t numbers = n;
  while (longest == 1 && numbers > 0 && is_nan(numbers - 1)) --numbers;
  return numbers < n ? numbers : best;
}
template <class K> void mode_as(const Tensor& x, const Results& out, void* workspace) {
  const Keys k = keys_of(x.dtype(), true);
  const int64_t n = rows_of(x).size;
  const K most = nan_key<K>(k), *nan = k.format->def->kind == Kind::floating ? &most : nullptr;
  auto of_short = [&](int64_t r, const char* row, const K* key, const int64_t* order) {
    out.put(r, row, order + most_often(n, nan, [&](int64_t j) { return key[order[j]]; }));
  };
  if (short_rows<K>(k, x, of_short)) return;
  for_rows(x, workspace, sorting_room<K>(n), [&](int64_t r, const char* row, char* memory) {
    const auto* a = sort_row<K>(k, row, n, memory);
    out.write(r, row, a + most_often(n, nan, [&](int64_t j) { return K(a[j] >> Packed<K>::kShift); }));
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
