// Layer normalization: two passes for mean and variance (no cancellation), one for the result, over a row that sits in the
// cache.
#include "ops/nn/layer_norm_kernel.h"

#include "loops/lanes.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kGrain = 16384;   // elements
constexpr int64_t kMaxChunks = 32;  // partial sums of the parameters' gradients
constexpr int64_t kCombine = 512;   // columns combined at once
constexpr int64_t kAlign = 16;      // elements: parts of the workspace start at multiples of 64 bytes

int64_t padded(int64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }
bool is_wide(Source x) { return x.format->def->compute == Compute::f64; }

template <class T> struct Moments {
  T mean, rstd;
};

template <class T> Moments<T> moments(RowTiles<T>& x, int64_t n, bool centred, double eps) {
  using V = Vec<T>;
  const int64_t ahead = next_row(n);
  double total = 0, squares = 0;
  for_blocks(centred ? n : 0, [&](int64_t i, int64_t count) {
    const T* from = x.read(i, count);
    T sum[1];
    lane_sums<T, 1>(count, sum, [&](auto access, int64_t j, V* term) { term[0] = access.load(from + j); });
    total += sum[0];
  });
  const T mean = static_cast<T>(total / static_cast<double>(n));
  for_blocks(n, [&](int64_t i, int64_t count) {
    const T* from = x.read(i, count);
    T sum[1];
    lane_sums<T, 1>(count, sum, [&](auto access, int64_t j, V* term) {
      __builtin_prefetch(from + j + ahead);
      const V centred = access.load(from + j) - V(mean);
      term[0] = centred * centred;
    });
    squares += sum[0];
  });
  return {mean, static_cast<T>(1 / __builtin_sqrt(squares / static_cast<double>(n) + eps))};
}

template <class T>
void forward_as(const LayerNormShape& shape, Source x, Source weight, Source bias, double eps, Target y, T* mean, T* rstd,
                T* workspace) {
  using V = Vec<T>;
  const int64_t n = shape.n, ahead = next_row(n);
  const T* w = whole(weight, n, workspace);
  const T* b = whole(bias, n, workspace + padded(n));
  parallel_for(shape.rows, max_of(1, kGrain / max_of(n, 1)), [&](int64_t begin, int64_t end) {
    alignas(64) T in[kTile<T>], out[kTile<T>];
    for (int64_t r = begin; r < end; r++) {
      RowTiles<T> tiles{x, r * n, in};
      const Moments<T> m = moments(tiles, n, shape.centred, eps);
      mean[r] = m.mean;
      rstd[r] = m.rstd;
      for_blocks(n, [&](int64_t i, int64_t count) {
        const T* from = tiles.read(i, count);
        T* to = open_tile(y, r * n + i, out);
        for_vectors<T>(count, [&](auto access, int64_t j) {
          __builtin_prefetch(to + j + ahead, 1);
          V value = (access.load(from + j) - V(m.mean)) * V(m.rstd);
          if (w) value *= access.load(w + i + j);
          if (b) value += access.load(b + i + j);
          access.store(to + j, value);
        });
        close_tile(y, r * n + i, count, out);
      });
    }
  });
}

// Rows are cut at places fixed by the shape: at most kMaxChunks chunks of at least kGrain elements.
struct Chunks {
  int64_t rows, count;
};
Chunks plan_chunks(const LayerNormShape& s) {
  const int64_t n = max_of(s.n, 1);
  const int64_t rows = max_of((s.rows + kMaxChunks - 1) / kMaxChunks, (kGrain + n - 1) / n);
  return {rows, (s.rows + rows - 1) / rows};
}

// What one row's backward needs: the rows, their statistics, and where its share of the parameters' gradients goes (or null).
template <class T> struct BackwardRow {
  Source dy, x;
  Target dx;
  const T* weight;
  T *dweight, *dbias;
  int64_t n;
  bool centred;
};

// With g = dy weight and h = (x - mean) rstd: dx = rstd (g - mean(g) - h mean(g h)), dweight += dy h, dbias += dy. Without
// centring mean(g) falls away.
template <class T> void backward_row(const BackwardRow<T>& a, int64_t row, T mean, T rstd) {
  using V = Vec<T>;
  alignas(64) T x_buffer[kTile<T>], dy_buffer[kTile<T>], out[kTile<T>];
  RowTiles<T> xs{a.x, row, x_buffer}, dys{a.dy, row, dy_buffer};
  const int64_t ahead = next_row(a.n);
  double total[2] = {};
  for_blocks(a.n, [&](int64_t i, int64_t count) {
    const T *x = xs.read(i, count), *dy = dys.read(i, count);
    T sum[2];
    lane_sums<T, 2>(count, sum, [&](auto access, int64_t j, V* term) {
      const V d = access.load(dy + j), h = (access.load(x + j) - V(mean)) * V(rstd);
      if (a.dweight) access.store(a.dweight + i + j, access.load(a.dweight + i + j) + d * h);
      if (a.dbias) access.store(a.dbias + i + j, access.load(a.dbias + i + j) + d);
      term[0] = a.weight ? d * access.load(a.weight + i + j) : d;
      term[1] = term[0] * h;
    });
    total[0] += sum[0];
    total[1] += sum[1];
  });
  if (!a.dx.data) return;
  const V mean_g(static_cast<T>(a.centred ? total[0] / static_cast<double>(a.n) : 0)),
      mean_gh(static_cast<T>(total[1] / static_cast<double>(a.n)));
  for_blocks(a.n, [&](int64_t i, int64_t count) {
    const T *x = xs.read(i, count), *dy = dys.read(i, count);
    T* to = open_tile(a.dx, row + i, out);
    for_vectors<T>(count, [&](auto access, int64_t j) {
      __builtin_prefetch(x + j + ahead);
      __builtin_prefetch(dy + j + ahead);
      __builtin_prefetch(to + j + ahead, 1);
      const V h = (access.load(x + j) - V(mean)) * V(rstd);
      V g = access.load(dy + j);
      if (a.weight) g *= access.load(a.weight + i + j);
      access.store(to + j, V(rstd) * (g - mean_g - h * mean_gh));
    });
    close_tile(a.dx, row + i, count, out);
  });
}

// y[n] = the sum of `count` rows of partial sums, `step` apart, in double.
template <class T> void combine(Target y, const T* partial, int64_t count, int64_t step, int64_t n) {
  if (!y.data) return;
  parallel_for((n + kCombine - 1) / kCombine, max_of(1, kGrain / (kCombine * max_of(count, 1))),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin * kCombine; i < min_of(n, end * kCombine); i += kCombine) {
                   const int64_t width = min_of(kCombine, n - i);
                   double sum[kCombine] = {};
                   alignas(64) T out[kCombine];
                   for (int64_t c = 0; c < count; c++) {
                     for (int64_t j = 0; j < width; j++) sum[j] += partial[c * step + i + j];
                   }
                   T* to = open_tile(y, i, out);
                   for (int64_t j = 0; j < width; j++) to[j] = static_cast<T>(sum[j]);
                   close_tile(y, i, width, out);
                 }
               });
}

template <class T>
void backward_as(const LayerNormShape& shape, Source dy, Source x, Source weight, const T* mean, const T* rstd, Target dx,
                 Target dweight, Target dbias, T* workspace) {
  const int64_t n = shape.n, step = padded(n);
  const Chunks chunks = plan_chunks(shape);
  const T* w = whole(weight, n, workspace);
  T* partial = workspace + step;
  parallel_for(chunks.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; c++) {
      BackwardRow<T> a{dy, x, dx, w, nullptr, nullptr, n, shape.centred};
      if (dweight.data) a.dweight = partial + 2 * c * step;
      if (dbias.data) a.dbias = partial + (2 * c + 1) * step;
      for (int64_t j = 0; j < n; j++) {
        if (a.dweight) a.dweight[j] = 0;
        if (a.dbias) a.dbias[j] = 0;
      }
      for (int64_t r = c * chunks.rows; r < min_of(shape.rows, (c + 1) * chunks.rows); r++) {
        backward_row<T>(a, r * n, mean[r], rstd[r]);
      }
    }
  });
  combine<T>(dweight, partial, chunks.count, 2 * step, n);
  combine<T>(dbias, partial + step, chunks.count, 2 * step, n);
}

int64_t forward_workspace(const LayerNormShape& shape, Source weight, Source bias) {
  auto decoded = [](Source p) { return p.format && !stores<float>(p.format) && !stores<double>(p.format); };
  return decoded(weight) || decoded(bias) ? 2 * padded(shape.n) * 4 : 0;
}

int64_t backward_workspace(const LayerNormShape& shape, Source x, Source weight) {
  return (1 + 2 * plan_chunks(shape).count) * padded(shape.n) * (is_wide(x) ? 8 : 4);
}

void forward(const LayerNormShape& shape, Source x, Source weight, Source bias, double eps, Target y, void* mean, void* rstd,
             void* workspace) {
  if (is_wide(x)) {
    forward_as(shape, x, weight, bias, eps, y, static_cast<double*>(mean), static_cast<double*>(rstd),
               static_cast<double*>(workspace));
  } else {
    forward_as(shape, x, weight, bias, eps, y, static_cast<float*>(mean), static_cast<float*>(rstd),
               static_cast<float*>(workspace));
  }
}

void backward(const LayerNormShape& shape, Source dy, Source x, Source weight, const void* mean, const void* rstd, Target dx,
              Target dweight, Target dbias, void* workspace) {
  if (is_wide(x)) {
    backward_as(shape, dy, x, weight, static_cast<const double*>(mean), static_cast<const double*>(rstd), dx, dweight, dbias,
                static_cast<double*>(workspace));
  } else {
    backward_as(shape, dy, x, weight, static_cast<const float*>(mean), static_cast<const float*>(rstd), dx, dweight, dbias,
                static_cast<float*>(workspace));
  }
}

}  // namespace

extern const LayerNormKernel layer_norm_kernel = {forward_workspace, forward, backward_workspace, backward};

}  // namespace dyadic::DY_ISA
