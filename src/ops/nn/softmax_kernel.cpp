// softmax in three passes over a row that sits in the cache: maximum, exponentials and their sum, scaling.
#include "ops/nn/softmax_kernel.h"

#include "loops/lanes.h"

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
  if (n == 0) return;
  parallel_for(rows, max_of(1, kGrain / n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r++) row(r * n);
  });
}

void forward(Source x, Target y, int64_t rows, int64_t n, bool log) {
  const bool wide = x.format->def->compute == Compute::f64;
  for_rows(rows, n,
           [&](int64_t row) { wide ? forward_row<double>(x, y, row, n, log) : forward_row<float>(x, y, row, n, log); });
}

void backward(Source y, Source dy, Target dx, int64_t rows, int64_t n, bool log) {
  const bool wide = y.format->def->compute == Compute::f64;
  for_rows(rows, n, [&](int64_t row) {
    wide ? backward_row<double>(y, dy, dx, row, n, log) : backward_row<float>(y, dy, dx, row, n, log);
  });
}

}  // namespace

extern const SoftmaxKernel softmax_kernel = {forward, backward};

}  // namespace dyadic::DY_ISA
