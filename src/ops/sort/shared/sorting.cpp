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
template <class Body> void for_rows(const RowOrder& p, const Pointers& at, int64_t room, Body&& body) {
  const Rows rows = p.rows;
  const int64_t bytes = rows.size * p.format->itemsize();
  auto run = [&](int64_t r, int64_t slot) {
    body(r, static_cast<const char*>(at.in[0]) + r * bytes, static_cast<char*>(at.workspace) + slot * room);
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
  char* values;
  int64_t* indices;
  int64_t columns, width;
  Results(const RowOrder& p, const Pointers& at)
      : values(static_cast<char*>(at.out[0])),
        indices(static_cast<int64_t*>(at.out[1])),
        columns(p.columns),
        width(p.format->itemsize()) {}
  int64_t* index(int64_t row) const { return indices + row * columns; }
  // A short row's indices and the values that they name.
  void put(int64_t row, const char* x, const int64_t* from) const {
    std::copy_n(from, columns, index(row));
    pick(x, from, columns, width, values + row * columns * width);
  }
  // The values that a row's indices name.
  void pick_values(int64_t row, const char* x) const {
    parallel_for(columns, 1 << 15, [&](int64_t begin, int64_t end) {
      pick(x, index(row) + begin, end - begin, width, values + (row * columns + begin) * width);
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
template <class K, class Body> void for_tiled_rows(const Keys& k, const RowOrder& p, const Pointers& at, Body&& body) {
  const Rows rows = p.rows;
  const int64_t n = rows.size, bytes = n * k.format->itemsize(), group = kTile / n;
  parallel_for((rows.count + group - 1) / group, 4, [&](int64_t begin, int64_t end) {
    K keys[kTile];
    for (int64_t first = begin * group; first < std::min(rows.count, end * group); first += group) {
      const int64_t count = std::min(group, rows.count - first);
      const char* row = static_cast<const char*>(at.in[0]) + first * bytes;
      kernel<K>().make(k, row, n * count, keys);
      for (int64_t r = 0; r < count; ++r) body(first + r, row + r * bytes, keys + r * n);
    }
  });
}
// Short rows: an element goes where so many others are before it, without a branch that the processor would have to guess.
// body(row number, its elements, their keys, their indices in order).
template <class K, class Body> bool short_rows(const Keys& k, const RowOrder& p, const Pointers& at, Body&& body) {
  const int64_t n = p.rows.size;
  if (n > kShortRow) return false;
  for_tiled_rows<K>(k, p, at, [&](int64_t r, const char* row, const K* key) {
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

// The first of each short row in order.
template <class K> bool order_short_rows(const Keys& k, const RowOrder& p, const Pointers& at, const Results& out) {
  return short_rows<K>(k, p, at, [&](int64_t r, const char* row, const K*, const int64_t* order) { out.put(r, row, order); });
}

template <class K> void sort_as(const RowOrder& p, const Pointers& at) {
  const Results out(p, at);
  const Keys k = keys_of(DType(p.format), !p.backwards);
  if (order_short_rows<K>(k, p, at, out)) return;
  const int64_t n = p.rows.size;
  for_rows(p, at, sorting_room<K>(n),
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
template <class K> bool few_of_rows(const Keys& k, const RowOrder& p, const Pointers& at, const Results& out) {
  const int64_t n = p.rows.size, count = out.columns;
  if (count > kFew || n > kTile) return false;
  for_tiled_rows<K>(k, p, at, [&](int64_t r, const char* row, const K* key) {
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
template <class K> void top_as(const RowOrder& p, const Pointers& at) {
  const Results out(p, at);
  const Keys k = keys_of(DType(p.format), !p.backwards);
  const int64_t n = p.rows.size, count = out.columns;
  if (count == 0 || few_of_rows<K>(k, p, at, out) || order_short_rows<K>(k, p, at, out)) return;
  for_rows(p, at, sorting_room<K>(n), [&](int64_t r, const char* row, char* memory) {
    out.write(r, row, 2 * count + 64 > n ? sort_row<K>(k, row, n, memory) : smallest_of_row<K>(k, row, n, count, memory));
  });
}

// The index of a row's element of rank `at`.
template <class K> int64_t index_of_rank(const K* keys, int64_t n, int64_t at, K* spare) {
  const K key = kernel<K>().kth(keys, n, at, spare);
  return kernel<K>().find(keys, n, key, at - kernel<K>().count_below(keys, n, key));
}
template <class K> void kth_as(const RowOrder& p, const Pointers& at) {
  const Results out(p, at);
  const int64_t wanted = p.wanted;
  const Keys k = keys_of(DType(p.format), true);
  const int64_t n = p.rows.size;
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
  if (short_rows<K>(k, p, at, of_short)) return;
  for_rows(p, at, choosing_room<K>(n), [&](int64_t r, const char* row, char* memory) {
    K* keys = reinterpret_cast<K*>(memory);
    make_keys(k, row, n, keys);
    const int64_t numbers = wanted < 0 && may_be_nan ? kernel<K>().count_below(keys, n, nan_key<K>(k)) : n;
    *out.index(r) = index_of_rank(keys, n, rank(numbers), keys + n);
    out.pick_values(r, row);
  });
}
template <class K> void ranked_as(const RowOrder& p, const Pointers& at) {
  const Results out(p, at);
  const auto* ranks = static_cast<const int64_t*>(at.in[1]);
  const Keys k = keys_of(DType(p.format), true);
  const int64_t n = p.rows.size;
  auto of_short = [&](int64_t r, const char* row, const K*, const int64_t* order) {
    for (int64_t i = 0; i < out.columns; ++i) out.index(r)[i] = order[ranks[r * out.columns + i]];
    out.pick_values(r, row);
  };
  if (short_rows<K>(k, p, at, of_short)) return;
  const bool sorted = out.columns > kFewRanks;
  for_rows(p, at, sorted ? sorting_room<K>(n) : choosing_room<K>(n), [&](int64_t r, const char* row, char* memory) {
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
template <class K> void mode_as(const RowOrder& p, const Pointers& at) {
  const Results out(p, at);
  const Keys k = keys_of(DType(p.format), true);
  const int64_t n = p.rows.size;
  const K most = nan_key<K>(k), *nan = k.format->def->kind == Kind::floating ? &most : nullptr;
  auto of_short = [&](int64_t r, const char* row, const K* key, const int64_t* order) {
    out.put(r, row, order + most_often(n, nan, [&](int64_t j) { return key[order[j]]; }));
  };
  if (short_rows<K>(k, p, at, of_short)) return;
  for_rows(p, at, sorting_room<K>(n), [&](int64_t r, const char* row, char* memory) {
    const auto* a = sort_row<K>(k, row, n, memory);
    out.write(r, row, a + most_often(n, nan, [&](int64_t j) { return K(a[j] >> Packed<K>::kShift); }));
  });
}

bool wide_keys(const Format* f) { return keys_of(DType(f), true).bytes == 8; }

}  // namespace

Rows rows_of(const Tensor& t) {
  const int64_t n = t.dim() ? t.size(-1) : 1;
  int64_t count = 1;
  for (int64_t d = 0; d + 1 < t.dim(); ++d) count *= t.size(d);
  return {count, n};
}
RowOrder order_rows(const Call& c) {
  const Tensor& x = c.tensor(0);
  const Operand values = c.result();
  return {x.dtype().format(), rows_of(x), values.dim() ? values.size(-1) : 1, 0, false};
}
int64_t order_workspace(const RowOrder& p) {
  return slots(p.rows) *
         (wide_keys(p.format) ? sorting_room<uint64_t> : sorting_room<uint32_t>)(p.rows.count ? p.rows.size : 0);
}
int64_t choose_workspace(const RowOrder& p) {
  if (p.columns > kFewRanks) return order_workspace(p);
  const int64_t n = p.rows.count ? p.rows.size : 0;
  return slots(p.rows) * (wide_keys(p.format) ? choosing_room<uint64_t> : choosing_room<uint32_t>)(n);
}
void check_order(const Call& c) {
  DY_CHECK(rows_of(c.tensor(0)).size < int64_t{1} << 32, "{}: the dimension is too long: self is {}", c.name,
           describe(c.tensor(0)));
}

void sort_rows(const RowOrder& p, const Pointers& at) {
  if (p.nothing()) return;
  (wide_keys(p.format) ? sort_as<uint64_t> : sort_as<uint32_t>)(p, at);
}
void top_rows(const RowOrder& p, const Pointers& at) {
  if (p.nothing()) return;
  (wide_keys(p.format) ? top_as<uint64_t> : top_as<uint32_t>)(p, at);
}
void kth_rows(const RowOrder& p, const Pointers& at) {
  if (p.nothing()) return;
  (wide_keys(p.format) ? kth_as<uint64_t> : kth_as<uint32_t>)(p, at);
}
void ranked_rows(const RowOrder& p, const Pointers& at) {
  if (p.nothing() || p.columns == 0) return;
  (wide_keys(p.format) ? ranked_as<uint64_t> : ranked_as<uint32_t>)(p, at);
}
void mode_rows(const RowOrder& p, const Pointers& at) {
  if (p.nothing()) return;
  (wide_keys(p.format) ? mode_as<uint64_t> : mode_as<uint32_t>)(p, at);
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
