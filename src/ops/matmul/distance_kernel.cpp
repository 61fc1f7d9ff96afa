// Columns of the result are lanes: a panel of y's rows is transposed, then every row of x runs along it.
#include "ops/matmul/distance_kernel.h"

#include "loops/gemm_pack.h"
#include "loops/lanes.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kRows = 64;    // of x, of an item
constexpr int64_t kDepth = 256;  // squares that are added up before their sum is, so that long rows lose no digits

bool is_double(Source x) { return x.format->def->compute == Compute::f64; }
template <class T> int64_t panel_bytes(int64_t d) { return d * kMicroCols<T> * int64_t(sizeof(T)); }

// sums[row][kMicroCols] += squared differences of R rows of x, d apart, and `steps` rows of a panel.
template <int R, class T> DY_INLINE void add_squares(const T* x, int64_t d, const T* panel, int64_t steps, T* sums) {
  using V = Vec<T>;
  constexpr int64_t L = V::size();
  V acc[R][2];
  DY_UNROLL for (int r = 0; r < R; r++) DY_UNROLL for (int j = 0; j < 2; j++) acc[r][j] = V(0);
  for (int64_t k = 0; k < steps; k++, panel += 2 * L) {
    const V y[2] = {V::load(panel), V::load(panel + L)};
    DY_UNROLL for (int r = 0; r < R; r++) {
      const V from(x[r * d + k]);
      DY_UNROLL for (int j = 0; j < 2; j++) {
        const V apart = from - y[j];
        acc[r][j] = fma(apart, apart, acc[r][j]);
      }
    }
  }
  DY_UNROLL for (int r = 0; r < R; r++) DY_UNROLL for (int j = 0; j < 2; j++) {
    T* to = sums + r * 2 * L + j * L;
    (V::load(to) + acc[r][j]).store(to);
  }
}

// R rows of x against `columns` of y: out[r * m + j].
template <int R, class T> DY_INLINE void distances(const T* x, int64_t d, const T* panel, int64_t columns, T* out, int64_t m) {
  using V = Vec<T>;
  alignas(64) T sums[R * kMicroCols<T>] = {};
  for (int64_t k = 0; k < d; k += kDepth) add_squares<R>(x + k, d, panel + k * kMicroCols<T>, min_of(kDepth, d - k), sums);
  for (int64_t i = 0; i < R * kMicroCols<T>; i += V::size()) sqrt(V::load(sums + i)).store(sums + i);
  for (int64_t r = 0; r < R; r++) load_row(sums + r * kMicroCols<T>, out + r * m, columns);
}

template <class T> void run_as(const DistanceShape& s, const T* x, const T* y, T* out, char* workspace) {
  const int64_t blocks = (s.n + kRows - 1) / kRows;
  parallel_each(s.batch * blocks, [&](int64_t item) {
    const int64_t b = item / blocks, first = item % blocks * kRows, last = min_of(s.n, first + kRows);
    T* panel = reinterpret_cast<T*>(workspace + thread_index() * panel_bytes<T>(s.d));
    for (int64_t j = 0; j < s.m; j += kMicroCols<T>) {
      const int64_t columns = min_of(kMicroCols<T>, s.m - j);
      if (columns < kMicroCols<T>) zero_row(panel, s.d * kMicroCols<T>);
      transpose_block(y + (b * s.m + j) * s.d, s.d, columns, s.d, panel, kMicroCols<T>);
      int64_t i = first;
      auto row = [&](int64_t r) { return x + (b * s.n + r) * s.d; };
      auto to = [&](int64_t r) { return out + (b * s.n + r) * s.m + j; };
      for (; i + 4 <= last; i += 4) distances<4>(row(i), s.d, panel, columns, to(i), s.m);
      for (; i < last; i++) distances<1>(row(i), s.d, panel, columns, to(i), s.m);
    }
  });
}

// Elements of x, y and the result, decoded.
struct Elements {
  int64_t x, y, out;
  explicit Elements(const DistanceShape& s) : x(s.batch * s.n * s.d), y(s.batch * s.m * s.d), out(s.batch * s.n * s.m) {}
};
bool is_stored(Source x) { return is_double(x) || stores<float>(x.format); }

int64_t workspace(const DistanceShape& s, Source x) {
  const Elements e(s);
  const int64_t decoded = is_stored(x) ? 0 : (e.x + e.y + e.out) * int64_t(sizeof(float));
  return 64 + num_threads() * (is_double(x) ? panel_bytes<double>(s.d) : panel_bytes<float>(s.d)) + decoded;
}
void run(const DistanceShape& s, Source x, Source y, Target out, void* space) {
  char* at = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(space) + 63) / 64 * 64);
  if (is_double(x))
    return run_as(s, static_cast<const double*>(x.data), static_cast<const double*>(y.data), static_cast<double*>(out.data),
                  at);
  if (is_stored(x))
    return run_as(s, static_cast<const float*>(x.data), static_cast<const float*>(y.data), static_cast<float*>(out.data), at);
  const Elements e(s);
  float *xs = reinterpret_cast<float*>(at + num_threads() * panel_bytes<float>(s.d)), *ys = xs + e.x, *result = ys + e.y;
  x.format->def->decode(x.data, xs, e.x);
  y.format->def->decode(y.data, ys, e.y);
  run_as(s, xs, ys, result, at);
  out.format->def->encode(result, out.data, e.out, Round{});
}

}  // namespace

extern const DistanceKernel distance_kernel = {workspace, run};

}  // namespace dyadic::DY_ISA
