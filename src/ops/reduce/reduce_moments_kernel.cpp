// Mean and squared distances from it: one pass over memory. Each block is read twice while it lies in a near cache, for its
// mean and for the distances; blocks are merged as in Chan, Golub and LeVeque 1979.
#include "ops/reduce/reduce_tiles.h"

namespace dyadic::DY_ISA {
namespace {

struct Moments {
  double n = 0, mean = 0, squares = 0;
};

DY_INLINE Moments merge(Moments a, Moments b) {
  if (a.n == 0 || b.n == 0) return a.n == 0 ? b : a;
  const double n = a.n + b.n, apart = b.mean - a.mean;
  const double mean = apart - apart == 0 ? a.mean + apart * (b.n / n) : a.mean * (a.n / n) + b.mean * (b.n / n);  // infinities
  return {n, mean, a.squares + b.squares + apart * apart * (a.n * b.n / n)};
}

// Distances are taken from the mean as a T; what that leaves is put right with their sum.
DY_INLINE Moments about(double middle, double sum, double squares, double n) {
  return {n, middle - middle == 0 ? middle + sum / n : middle, squares - sum * sum / n};  // an infinite mean stays one
}

template <class T> Moments measure(const T* x, int64_t n) {
  using V = Vec<T>;
  if (n == 0) return {};
  T sum[1], terms[2];
  lane_sums<T, 1>(n, sum, [&](auto access, int64_t j, V* term) { term[0] = access.load(x + j); });
  const T middle = sum[0] / static_cast<T>(n);
  lane_sums<T, 2>(n, terms, [&](auto access, int64_t j, V* term) {
    term[0] = access.load(x + j) - V(middle);
    term[1] = term[0] * term[0];
  });
  return about(static_cast<double>(middle), static_cast<double>(terms[0]), static_cast<double>(terms[1]),
               static_cast<double>(n));
}

// Blocks of rows that stay in the second cache are read twice.
template <class T> void measure_slab(const Tiles<T>& x, int64_t at, int64_t step, int64_t rows, int64_t width, Moments* out) {
  using V = Vec<T>;
  constexpr int64_t kWidth = kSlabBytes / sizeof(T), kRows = 32;
  alignas(64) T middle[kWidth], sum[kWidth], squares[kWidth], buffer[kWidth];
  for (int64_t j = 0; j < width; j++) out[j] = {};
  for (int64_t block = 0; block < rows; block += kRows) {
    const int64_t end = min_of(rows, block + kRows);
    for (int64_t j = 0; j < width; j++) middle[j] = sum[j] = squares[j] = 0;
    for (int64_t r = block; r < end; r++) {
      const T* row = x.read(at + r * step, width, buffer);
      for_vectors<T>(width,
                     [&](auto access, int64_t j) { access.store(middle + j, access.load(middle + j) + access.load(row + j)); });
    }
    const V n(static_cast<T>(end - block));
    for_vectors<T>(width, [&](auto access, int64_t j) { access.store(middle + j, access.load(middle + j) / n); });
    for (int64_t r = block; r < end; r++) {
      const T* row = x.read(at + r * step, width, buffer);
      for_vectors<T>(width, [&](auto access, int64_t j) {
        const V apart = access.load(row + j) - access.load(middle + j);
        access.store(sum + j, access.load(sum + j) + apart);
        access.store(squares + j, access.load(squares + j) + apart * apart);
      });
    }
    for (int64_t j = 0; j < width; j++)
      out[j] = merge(out[j], about(middle[j], sum[j], squares[j], static_cast<double>(end - block)));
  }
}

template <class T> void measure_all(const ReduceShape& shape, Source source, Target squares, Target mean, void* workspace) {
  using W = Moments;
  constexpr int64_t kBlock = 2048;  // elements: of both types in the first cache
  const Tiles<T> x(source);
  auto slab = [&](int64_t at, int64_t step, int64_t rows, int64_t width, W* out) {
    measure_slab(x, at, step, rows, width, out);
  };
  auto write = [&](int64_t at, int64_t n, W* values) {
    constexpr int64_t kBatch = 256;
    double first[kBatch], second[kBatch];
    for (int64_t i = 0; i < n; i += kBatch) {
      const int64_t count = min_of(kBatch, n - i);
      for (int64_t j = 0; j < count; j++) {
        const W& w = values[i + j];
        first[j] = w.squares, second[j] = w.n == 0 ? w.mean / w.n : w.mean;  // of nothing the mean is NaN
      }
      write_results(squares, at + i, count, first);
      write_results(mean, at + i, count, second);
    }
  };
  auto tile = [](const T* e, int64_t n) { return measure(e, n); };
  reduce_tiles<W, kBlock>(shape, x, workspace, tile, slab, write);
}

}  // namespace

int64_t moments_workspace(const ReduceShape& shape, const Format& x) {
  const ColumnPlan plan = plan_columns(shape, compute_size(x.def->compute));
  return plan.chunks == 1 ? 0 : shape.outer * plan.chunks * shape.inner * static_cast<int64_t>(sizeof(Moments));
}

void reduce_moments(const ReduceShape& shape, Source x, Target squares, Target mean, void* workspace) {
  if (x.format->def->compute == Compute::f64) return measure_all<double>(shape, x, squares, mean, workspace);
  measure_all<float>(shape, x, squares, mean, workspace);
}

}  // namespace dyadic::DY_ISA
