// Copies, conversions and fills of scalar formats between any two layouts (assign.h). Nothing is planned on the device:
// dimensions are merged, then the widest access that addresses and strides allow is taken.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "plugins/cuda/copies/assign.h"
#include "plugins/cuda/copies/saturate.h"

namespace dyadic::gpu {
namespace {

constexpr int kThreads = 256, kTile = 32, kRows = kThreads / kTile;

// Elements that only move, by words.

template <class W> __global__ void __launch_bounds__(kThreads) move_dense(W* to, const W* from, int64_t n) {
  const int64_t step = all_threads();
  int64_t i = first_thread();
  for (; i + 3 * step < n; i += 4 * step) {  // loads in flight
    const W a = from[i], b = from[i + step], c = from[i + 2 * step], d = from[i + 3 * step];
    to[i] = a, to[i + step] = b, to[i + 2 * step] = c, to[i + 3 * step] = d;
  }
  for (; i < n; i += step) to[i] = from[i];
}
template <class W> __global__ void __launch_bounds__(kThreads) move_strided(W* to, const W* from, Space<2> s) {
  for (int64_t i = first_thread(); i < s.count; i += all_threads()) {
    int64_t at[2];
    s.offsets(i, at);
    to[at[0]] = from[at[1]];
  }
}

// Tiles that are read along the dimension that is dense in the source, and written along the target's.
struct Tiles {
  Space<2> rest;           // the other dimensions
  int64_t in_row, in_col;  // elements along the target's dense dimension, along the source's
  int64_t row_step;        // in the source, of the target's dense dimension
  int64_t col_step;        // in the target, of the source's dense dimension
  int64_t row_tiles, col_tiles;
  int64_t count() const { return rest.count * row_tiles * col_tiles; }
};
template <class V, class Read, class Write> __device__ __forceinline__ void turn(const Tiles& t, Read read, Write write) {
  __shared__ V tile[kTile][kTile + 1];
  const int x = int(threadIdx.x) % kTile, y = int(threadIdx.x) / kTile;
  const int64_t each = t.row_tiles * t.col_tiles, n = t.rest.count * each;
  for (int64_t i = blockIdx.x; i < n; i += gridDim.x) {
    int64_t at[2];
    t.rest.offsets(i / each, at);
    const int64_t row = i % each / t.col_tiles * kTile, col = i % t.col_tiles * kTile;
    for (int k = y; k < kTile; k += kRows)
      if (row + k < t.in_row && col + x < t.in_col) tile[k][x] = read(at[1] + (row + k) * t.row_step + col + x);
    __syncthreads();
    for (int k = y; k < kTile; k += kRows)
      if (row + x < t.in_row && col + k < t.in_col) write(at[0] + (col + k) * t.col_step + row + x, tile[x][k]);
    __syncthreads();
  }
}
template <class W> __global__ void __launch_bounds__(kThreads) move_tiles(W* to, const W* from, Tiles t) {
  turn<W>(t, [=](int64_t i) { return from[i]; }, [=](int64_t i, W v) { to[i] = v; });
}

// Whether it pays to go by tiles: then they are in *t.
bool find_tiles(const Space<2>& s, Tiles* t) {
  const int row = s.ndim - 1;
  if (row < 1 || s.stride[0][row] != 1 || s.stride[1][row] == 1 || s.stride[1][row] == 0 || s.inner() < 8) return false;
  int col = -1;
  for (int d = 0; d < row; ++d)
    if (s.stride[1][d] == 1 && s.size[d].by >= 8) col = d;
  if (col < 0) return false;
  *t = Tiles{};
  t->in_row = s.size[row].by, t->in_col = s.size[col].by;
  t->row_step = s.stride[1][row], t->col_step = s.stride[0][col];
  t->row_tiles = (t->in_row + kTile - 1) / kTile, t->col_tiles = (t->in_col + kTile - 1) / kTile;
  for (int d = 0; d < row; ++d)
    if (d != col) t->rest.add(s.size[d].by, {s.stride[0][d], s.stride[1][d]});
  t->rest.finish();
  return true;
}

// Whether runs of n elements of `bytes` bytes each lie as wide accesses want them.
bool runs_align(const Space<2>& s, int k, const void* at, int64_t n, int64_t bytes) {
  const int64_t unit = std::min<int64_t>(16, n * bytes);
  if (!is_aligned(at, unit)) return false;
  for (int d = 0; d < s.ndim - 1; ++d)
    if (s.stride[k][d] * bytes % unit) return false;
  return true;
}

void move_bytes(char* to, const char* from, int64_t bytes) {
  const auto part = [&](auto word, int64_t begin, int64_t end) {
    using W = decltype(word);
    const int64_t n = (end - begin) / int64_t(sizeof(W));
    if (n > 0)
      launch(move_dense<W>, grid_for(n, 4, kThreads), reinterpret_cast<W*>(to + begin),
             reinterpret_cast<const W*>(from + begin), n);
  };
  const bool wide = is_aligned(to) && is_aligned(from);
  const int64_t whole = wide ? bytes / 16 * 16 : 0;
  part(Word16{}, 0, whole);
  if (!wide && is_aligned(to, 4) && is_aligned(from, 4) && bytes % 4 == 0) return part(uint32_t{}, 0, bytes);
  part(uint8_t{}, whole, bytes);
}
void move(Space<2> s, int width, void* to, const void* from) {
  if (s.ndim <= 1 && s.inner_dense())
    return move_bytes(static_cast<char*>(to), static_cast<const char*>(from), s.count * width);
  if (s.inner_dense()) {
    for (int wide = 16; wide > width; wide /= 2) {
      const int64_t n = wide / width;
      if (!runs_align(s, 0, to, n, width) || !runs_align(s, 1, from, n, width) || !s.cut(n)) continue;
      for (int d = 0; d < s.ndim; ++d) s.stride[0][d] /= n, s.stride[1][d] /= n;
      width = wide;
      break;
    }
  }
  Tiles tiles;
  const bool turned = find_tiles(s, &tiles);
  with_word(width, [&](auto word) {
    using W = decltype(word);
    if (turned)
      launch(move_tiles<W>, grid_for(tiles.count() * kThreads, 1, kThreads), static_cast<W*>(to), static_cast<const W*>(from),
             tiles);
    else
      launch(move_strided<W>, grid_for(s.count, 1, kThreads), static_cast<W*>(to), static_cast<const W*>(from), s);
  });
}

template <class W> __global__ void __launch_bounds__(kThreads) fill_strided(W* to, W value, Space<1> s) {
  for (int64_t i = first_thread(); i < s.count; i += all_threads()) {
    int64_t at[1];
    s.offsets(i, at);
    to[at[0]] = value;
  }
}

// Elements that are converted: N neighbours at a time, or one. V: what the source is computed in.

template <class V> inline constexpr int kRun = sizeof(V) == 4 ? 8 : sizeof(V) == 8 ? 4 : 1;

template <class V, int N> __device__ __forceinline__ void load_values(Code code, const void* at, int64_t i, V (&x)[N]) {
  with_element(code, [&](auto e) {
    if constexpr (std::is_same_v<typename decltype(e)::Value, V>) load_run<decltype(e)>(at, i, x);
  });
}
template <class V, int N> __device__ __forceinline__ void store_values(Code code, void* at, int64_t i, const V (&x)[N]) {
  const bool narrow = with_element(code, [](auto e) { return is_narrow<decltype(e)>; });
  float y[N] = {};
  if (narrow) DY_UNROLL
  for (int k = 0; k < N; ++k) y[k] = narrowed(x[k]);
  with_element(code, [&](auto e) {
    if constexpr (is_narrow<decltype(e)>)
      store_run<decltype(e)>(at, i, y);
    else
      store_run<decltype(e)>(at, i, x);
  });
}
struct Ends {
  Code to, from;
  void* target;
  const void* source;
};
template <class V, int N> __global__ void __launch_bounds__(kThreads) convert_runs(Ends e, Space<2> s) {
  for (int64_t i = first_thread(); i < s.count; i += all_threads()) {
    int64_t at[2];
    s.offsets(i, at);
    V x[N] = {};
    load_values(e.from, e.source, at[1], x);
    store_values(e.to, e.target, at[0], x);
  }
}
__global__ void __launch_bounds__(kThreads) convert_tiles(Ends e, Tiles t) {
  turn<float>(
      t, [=](int64_t i) { return load<float>(e.from, e.source, i); }, [=](int64_t i, float v) { store(e.to, e.target, i, v); });
}

template <class V> __global__ void __launch_bounds__(kThreads) convert_rounded(Ends e, Space<2> s, Round r, double max) {
  for (int64_t i = first_thread(); i < s.count; i += all_threads()) {
    int64_t at[2];
    s.offsets(i, at);
    V x[1] = {};
    load_values(e.from, e.source, at[1], x);
    const Rounder rounder(r, uint64_t(i));
    with_element(e.to, [&](auto element) {
      using E = decltype(element);
      auto* to = static_cast<typename E::Stored*>(e.target) + at[0];
      *to = rounded_within<E>(x[0], max, rounder);
    });
  }
}

template <class V> void convert_values(const Ends& e, Space<2> s) {
  constexpr int N = kRun<V>;
  const int64_t wide = stored_bytes(e.to), from_wide = stored_bytes(e.from);
  Tiles tiles;
  if (std::is_same_v<V, float> && find_tiles(s, &tiles))
    return launch(convert_tiles, grid_for(tiles.count() * kThreads, 1, kThreads), e, tiles);
  if (N > 1 && s.inner_dense() && runs_align(s, 0, e.target, N, wide) && runs_align(s, 1, e.source, N, from_wide)) {
    const int64_t whole = s.count / N * N;
    if (s.ndim == 1 && whole < s.count && whole > 0) {  // a run, then what is left of it
      Space<2> part = s;
      part.size[0] = Divisor(whole), part.finish();
      convert_values<V>(e, part);
      part.size[0] = Divisor(s.count - whole), part.finish();
      const Ends rest{e.to, e.from, static_cast<char*>(e.target) + whole * wide,
                      static_cast<const char*>(e.source) + whole * from_wide};
      return launch(convert_runs<V, 1>, grid_for(part.count, 1, kThreads), rest, part);
    }
    if (s.cut(N)) return launch(convert_runs<V, N>, grid_for(s.count, 1, kThreads), e, s);
  }
  launch(convert_runs<V, 1>, grid_for(s.count, 1, kThreads), e, s);
}

// Dimensions by falling steps of the target, which are all different from zero.
int order_of(const Operand& t, bool sorted, int* order) {
  int n = 0;
  for (int d = 0; d < t.ndim; ++d)
    if (t.lengths[d] != 1) order[n++] = d;
  if (sorted) std::stable_sort(order, order + n, [&](int a, int b) { return std::abs(t.steps[a]) > std::abs(t.steps[b]); });
  return n;
}

}  // namespace

void encode_number(const Scalar& value, const Format* format, void* stored) {
  const Code code = code_of(format);
  switch (value.kind()) {
    case Scalar::Kind::boolean:
      return store(code, stored, 0, int32_t(value.integer()));
    case Scalar::Kind::integer:
      return value.is_unsigned() ? store(code, stored, 0, uint64_t(value.integer())) : store(code, stored, 0, value.integer());
    case Scalar::Kind::real:
      return store(code, stored, 0, value.real());
    default:
      return store(code, stored, 0, Parts<double>{value.real(), value.imag()});
  }
}

Transfer plan_transfer(const Operand& target, const Operand& source, bool stochastic) {
  Transfer t{code_of(target.format), code_of(source.format), target.format->def->max, {}};
  int order[kMaxDims];
  const int n = order_of(target, !stochastic, order);
  for (int k = 0; k < n; ++k) {
    const int d = order[k];
    t.space.add(target.lengths[d], {target.steps[d], broadcast_step(source, target.ndim, d)});
  }
  t.space.finish();
  if (target.count == 0) t.space.count = 0;
  return t;
}

void Transfer::run(void* target, const void* source, const Round& round) const {
  if (space.count == 0) return;
  if (to == from) return move(space, stored_bytes(to), target, source);
  const Ends e{to, from, target, source};
  with_value(from, [&](auto value) {
    using V = decltype(value);
    if (round.mode == Rounding::stochastic || round.overflow != Overflow::standard)
      return launch(convert_rounded<V>, grid_for(space.count, 1, kThreads), e, space, round, max);
    convert_values<V>(e, space);
  });
}

Filling plan_filling(const Operand& target, const void* value) {
  Filling f{};
  int order[kMaxDims];
  const int n = order_of(target, true, order);
  for (int k = 0; k < n; ++k) f.space.add(target.lengths[order[k]], {target.steps[order[k]]});
  f.space.finish();
  if (target.count == 0) f.space.count = 0;
  f.width = int(target.itemsize());
  for (int at = 0; at < 16; at += f.width) std::memcpy(f.value + at, value, size_t(f.width));
  return f;
}
void Filling::run(void* target) const {
  if (space.count == 0) return;
  Space<1> s = space;
  int wide = width;
  if (s.ndim == 1 && s.inner_dense() && is_aligned(target) && s.count * width % 16 == 0) {
    s.count = s.count * width / 16, s.size[0] = Divisor(s.count), s.finish();
    wide = 16;
  }
  with_word(wide, [&](auto word) {
    using W = decltype(word);
    W w;
    std::memcpy(&w, value, sizeof(W));
    launch(fill_strided<W>, grid_for(s.count, 1, kThreads), static_cast<W*>(target), w, s);
  });
}

}  // namespace dyadic::gpu
