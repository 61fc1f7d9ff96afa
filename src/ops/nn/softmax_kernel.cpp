// softmax of rows in three passes over one that sits in the cache: maximum, exponentials and their sum, scaling.
#include "ops/nn/softmax_kernel.h"

#include "loops/lanes.h"
#include "ops/nn/softmax_columns.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kGrain = 16384;  // elements

template <class T> void forward_row(Source x, Target y, int64_t row, int64_t n, bool log) {
  using V = Vec<T>;
  alignas(64) T in[kTile<T>], out[kTile<T>];
  RowTiles<T> tiles{x, row, in};
  T most = -kInf;
  for_blocks(n, [&](int64_t i, int64_t count) {
    const T block = largest(tiles.read(i, count), count);
    most = block > most ? block : most;
  });
  // The exponentials wait in y itself; for an encoded row of several blocks they are computed twice instead.
  const bool keep = !log && (stores<T>(y.format) || n <= kSumBlock);
  const int64_t ahead = next_row(n);
  double total = 0;
  for_blocks(n, [&](int64_t i, int64_t count) {
    const T* from = tiles.read(i, count);
    T* to = keep ? open_tile(y, row + i, out) : nullptr;
    T sum[1];
    lane_sums<T, 1>(count, sum, [&](auto access, int64_t j, V* term) {
      __builtin_prefetch(from + j + ahead);
      if (keep) __builtin_prefetch(to + j + ahead, 1);
      term[0] = exp(access.load(from + j) - V(most));
      if (keep) access.store(to + j, term[0]);
    });
    total += sum[0];
  });
  const V scale(static_cast<T>(1 / total)), log_total(log ? scalar_log(static_cast<T>(total)) : T(0));
  for_blocks(n, [&](int64_t i, int64_t count) {
    T* to = open_tile(y, row + i, out);
    if (keep) {
      for_vectors<T>(count, [&](auto access, int64_t j) { access.store(to + j, access.load(to + j) * scale); });
    } else {
      const T* from = tiles.read(i, count);
      for_vectors<T>(count, [&](auto access, int64_t j) {
        const V shifted = access.load(from + j) - V(most);
        access.store(to + j, log ? shifted - log_total : exp(shifted) * scale);
      });
    }
    close_tile(y, row + i, count, out);
  });
}

// The same of a row that fits into the lanes of a sum: in registers from the first pass to the last.
template <class T> DY_INLINE void forward_short_row(const T* x, T* y, int64_t n, bool log) {
  using V = Vec<T>;
  constexpr int64_t kSize = V::size(), kVectors = kSumLanes<T> / kSize;
  const V lowest(-kInf);
  auto part = [&](int64_t j) { return static_cast<size_t>(min_of(n - j * kSize, kSize)); };
  V v[kVectors], most = lowest;
  for (int64_t j = 0; j < kVectors; j++) {
    v[j] = lowest;
    if (n >= (j + 1) * kSize)
      v[j] = V::load(x + j * kSize);
    else if (n > j * kSize)
      v[j] = select(Mask<T>::first_n(part(j)), V::load_n(x + j * kSize, part(j)), lowest);
    most = select(v[j] > most, v[j], most);
  }
  const V top(reduce_max(most));
  V e[kVectors], sum[kVectors];
  for (int64_t j = 0; j < kVectors; j++) v[j] = v[j] - top, sum[j] = e[j] = exp(v[j]);
  for (int64_t half = kVectors / 2; half > 0; half /= 2)
    for (int64_t j = 0; j < half; j++) sum[j] += sum[j + half];
  const double total = reduce_sum(sum[0]);
  const V scale(static_cast<T>(1 / total)), log_total(log ? scalar_log(static_cast<T>(total)) : T(0));
  for (int64_t j = 0; j < kVectors && j * kSize < n; j++) {
    const V value = log ? v[j] - log_total : e[j] * scale;
    if (n >= (j + 1) * kSize)
      value.store(y + j * kSize);
    else
      value.store_n(y + j * kSize, part(j));
  }
}
template <class T> void forward_short_rows(Source x, Target y, int64_t rows, int64_t n, bool log) {
  const int64_t tile = kSumBlock / n;
  parallel_for((rows + tile - 1) / tile, max_of(1, kGrain / (tile * n)), [&](int64_t begin, int64_t end) {
    alignas(64) T in[kSumBlock], out[kSumBlock];
    for (int64_t row = begin * tile; row < min_of(rows, end * tile); row += tile) {
      const int64_t count = min_of(tile, rows - row);
      const T* from = read_tile(x, row * n, count * n, in);
      T* to = open_tile(y, row * n, out);
      for (int64_t r = 0; r < count; r++) forward_short_row(from + r * n, to + r * n, n, log);
      close_tile(y, row * n, count * n, to);
    }
  });
}

// softmax: dx = y (dy - sum(y dy)); logarithm: dx = dy - exp(y) sum(dy).
template <class T> void backward_row(Source y, Source dy, Target dx, int64_t row, int64_t n, bool log) {
  using V = Vec<T>;
  alignas(64) T y_buffer[kTile<T>], dy_buffer[kTile<T>], out[kTile<T>];
  RowTiles<T> ys{y, row, y_buffer}, dys{dy, row, dy_buffer};
  double total = 0;
  for_blocks(n, [&](int64_t i, int64_t count) {
    const T* d = dys.read(i, count);
    const T* p = log ? d : ys.read(i, count);
    T sum[1];
    lane_sums<T, 1>(count, sum, [&](auto access, int64_t j, V* term) {
      term[0] = access.load(d + j);
      if (!log) term[0] *= access.load(p + j);
    });
    total += sum[0];
  });
  const V shift(static_cast<T>(total));
  const int64_t ahead = next_row(n);
  for_blocks(n, [&](int64_t i, int64_t count) {
    const T *p = ys.read(i, count), *d = dys.read(i, count);
    T* to = open_tile(dx, row + i, out);
    for_vectors<T>(count, [&](auto access, int64_t j) {
      __builtin_prefetch(p + j + ahead);
      __builtin_prefetch(d + j + ahead);
      __builtin_prefetch(to + j + ahead, 1);
      const V value = access.load(p + j), grad = access.load(d + j);
      access.store(to + j, log ? grad - exp(value) * shift : value * (grad - shift));
    });
    close_tile(dx, row + i, count, out);
  });
}

template <class Row> void for_rows(int64_t rows, int64_t n, Row&& row) {
  parallel_for(rows, max_of(1, kGrain / n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r++) row(r * n);
  });
}

void forward(Source x, Target y, int64_t outer, int64_t n, int64_t inner, bool log) {
  const bool wide = x.format->def->compute == Compute::f64;
  if (n * inner == 0) return;
  if (inner > 1)
    return wide ? softmax_columns<double>(x, y, outer, n, inner, log) : softmax_columns<float>(x, y, outer, n, inner, log);
  if (n <= (wide ? kSumLanes<double> : kSumLanes<float>))
    return wide ? forward_short_rows<double>(x, y, outer, n, log) : forward_short_rows<float>(x, y, outer, n, log);
  for_rows(outer, n,
           [&](int64_t row) { wide ? forward_row<double>(x, y, row, n, log) : forward_row<float>(x, y, row, n, log); });
}

void backward(Source y, Source dy, Target dx, int64_t outer, int64_t n, int64_t inner, bool log) {
  const bool wide = y.format->def->compute == Compute::f64;
  if (n * inner == 0) return;
  if (inner > 1)
    return wide ? softmax_columns_backward<double>(y, dy, dx, outer, n, inner, log)
                : softmax_columns_backward<float>(y, dy, dx, outer, n, inner, log);
  for_rows(outer, n, [&](int64_t row) {
    wide ? backward_row<double>(y, dy, dx, row, n, log) : backward_row<float>(y, dy, dx, row, n, log);
  });
}

}  // namespace

extern const SoftmaxKernel softmax_kernel = {forward, backward};

}  // namespace dyadic::DY_ISA
