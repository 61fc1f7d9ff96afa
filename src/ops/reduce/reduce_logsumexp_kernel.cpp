// log(sum(exp(x))): one pass over memory. Exponentials are taken relative to the largest element so far; what was summed before
// is scaled when a larger one comes.
#include "ops/reduce/reduce_tiles.h"

namespace dyadic::DY_ISA {
namespace {

// Exponentials relative to `top` (to 0 where that is infinite) and their sum.
struct Exponentials {
  double top = -__builtin_huge_val(), sum = 0;
};

template <class T> DY_INLINE Vec<T> relative_to(Vec<T> top) { return select(isinf(top), Vec<T>(0), top); }

DY_INLINE Exponentials merge(Exponentials a, Exponentials b) {
  if (a.top == b.top) return {a.top, a.sum + b.sum};
  const bool first = a.top > b.top;
  const Exponentials more = first ? a : b, less = first ? b : a;
  return {more.top, more.sum + less.sum * scalar_exp(less.top - more.top)};
}

template <class T> Exponentials sum_tile(const T* x, int64_t n) {
  const T top = largest(x, n), shift = hn::GetLane(relative_to(Vec<T>(top)).v);
  T sum[1];
  lane_sums<T, 1>(n, sum, [&](auto access, int64_t j, Vec<T>* term) { term[0] = exp(access.load(x + j) - Vec<T>(shift)); });
  return {static_cast<double>(top), static_cast<double>(sum[0])};
}

// Blocks of rows that stay in the second cache are read twice: for their largest elements, then for the exponentials.
template <class T> void sum_slab(const Tiles<T>& x, int64_t at, int64_t step, int64_t rows, int64_t width, Exponentials* out) {
  using V = Vec<T>;
  constexpr int64_t kWidth = kSlabBytes / sizeof(T), kRows = 32;
  alignas(64) T top[kWidth], most[kWidth], sum[kWidth], scale[kWidth], buffer[kWidth];
  for (int64_t j = 0; j < width; j++) out[j] = {}, top[j] = static_cast<T>(out[j].top);
  for (int64_t block = 0; block < rows; block += kRows) {
    const int64_t end = min_of(rows, block + kRows);
    for (int64_t j = 0; j < width; j++) most[j] = top[j], sum[j] = 0;
    for (int64_t r = block; r < end; r++) {
      const T* row = x.read(at + r * step, width, buffer);
      for_vectors<T>(width, [&](auto access, int64_t j) {
        const V old = access.load(most + j), v = access.load(row + j);
        access.store(most + j, select(v > old, v, old));
      });
    }
    for_vectors<T>(width, [&](auto access, int64_t j) {
      const V old = access.load(top + j), now = access.load(most + j);
      access.store(scale + j, select(now > old, exp(old - now), V(1)));
      access.store(top + j, now);
      access.store(most + j, relative_to(now));
    });
    for (int64_t r = block; r < end; r++) {
      const T* row = x.read(at + r * step, width, buffer);
      for_vectors<T>(width, [&](auto access, int64_t j) {
        access.store(sum + j, access.load(sum + j) + exp(access.load(row + j) - access.load(most + j)));
      });
    }
    for (int64_t j = 0; j < width; j++) {
      out[j].top = static_cast<double>(top[j]);
      out[j].sum = out[j].sum * static_cast<double>(scale[j]) + static_cast<double>(sum[j]);
    }
  }
}

template <class T> void sum_exponentials(const ReduceShape& shape, Source source, Target y, void* workspace) {
  using W = Exponentials;
  const Tiles<T> x(source);
  auto slab = [&](int64_t at, int64_t step, int64_t rows, int64_t width, W* out) { sum_slab(x, at, step, rows, width, out); };
  auto write = [&](int64_t at, int64_t n, W* values) {
    constexpr int64_t kBatch = 256;
    alignas(64) double top[kBatch], sum[kBatch];
    for (int64_t i = 0; i < n; i += kBatch) {
      const int64_t count = min_of(kBatch, n - i);
      for (int64_t j = 0; j < count; j++) top[j] = values[i + j].top, sum[j] = values[i + j].sum;
      for_vectors<double>(count, [&](auto access, int64_t j) {
        access.store(sum + j, relative_to(access.load(top + j)) + log(access.load(sum + j)));
      });
      write_results(y, at + i, count, sum);
    }
  };
  auto tile = [](const T* e, int64_t n) { return sum_tile(e, n); };
  reduce_tiles<W, kSumBlock>(shape, x, workspace, tile, slab, write);
}

}  // namespace

int64_t logsumexp_workspace(const ReduceShape& shape, const Format& x) {
  const ColumnPlan plan = plan_columns(shape, compute_size(x.def->compute));
  return plan.chunks == 1 ? 0 : shape.outer * plan.chunks * shape.inner * static_cast<int64_t>(sizeof(Exponentials));
}

void reduce_logsumexp(const ReduceShape& shape, Source x, Target y, void* workspace) {
  if (x.format->def->compute == Compute::f64) return sum_exponentials<double>(shape, x, y, workspace);
  sum_exponentials<float>(shape, x, y, workspace);
}

}  // namespace dyadic::DY_ISA
