// Products by tiles, c = a b of any operands: what fetches elements of a and b and what takes those of c are types, so that
// dense matrices, stored formats and convolutions share the loops. A sum runs over k in order, whatever the grid; a long k
// under a small c is cut into parts, by the shape alone, which are added in order.
//
// An operand, seen as lines (rows of a, columns of b) along k:
//   Side entry(const ProductShape&, int64_t batch) const    the same for one product of the batch
//   bool along_k                                            neighbours along k, else those from line to line, are near in
//   memory Line line(int64_t i) const; Step step(int64_t k) const  what is known of a line, of a place in k T get(Line, Step)
//   const                                 the element
// and for tensor cores, kRun neighbours as 16-bit numbers: void run(i, k, lines, depth, uint32_t (&)[kRun / 2]) const, zeros
// beyond `lines` and `depth`; i or k is a multiple of kRun, as along_k says.
// A result: Result entry(...), put(i, j, T) and put(i, j, T, T) of {i, j} and {i, j + 1}.
#pragma once
#include "dyadic/tensor.h"
#include "plugins/cuda/products/mma.h"

namespace dyadic::gpu {

inline constexpr int kMaxBatchDims = kMaxDims;

struct ProductShape {
  int64_t m, n, k;
  int64_t batch = 1;             // products
  int64_t parts = 1, depth = 0;  // of k
  int dims = 0;                  // of the batch, merged where all operands step through them as through one
  int64_t sizes[kMaxBatchDims];
  DY_DEVICE int64_t offset(const int64_t* steps, int64_t entry) const {
    int64_t at = 0;
    for (int d = dims - 1; d >= 0; --d) at += entry % sizes[d] * steps[d], entry /= sizes[d];
    return at;
  }
};

DY_DEVICE float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
DY_DEVICE double multiply_add(double a, double b, double c) { return fma(a, b, c); }
DY_DEVICE int32_t multiply_add(int32_t a, int32_t b, int32_t c) {
  return int32_t(uint32_t(a) * uint32_t(b) + uint32_t(c));  // wraps
}
DY_DEVICE int64_t multiply_add(int64_t a, int64_t b, int64_t c) { return int64_t(uint64_t(a) * uint64_t(b) + uint64_t(c)); }
template <class R> DY_DEVICE Parts<R> multiply_add(Parts<R> a, Parts<R> b, Parts<R> c) {
  return {multiply_add(-a.im, b.im, multiply_add(a.re, b.re, c.re)), multiply_add(a.im, b.re, multiply_add(a.re, b.im, c.im))};
}
template <class T> DY_DEVICE T plus(T a, T b) {
  if constexpr (is_parts<T>)
    return {a.re + b.re, a.im + b.im};
  else if constexpr (std::is_integral_v<T>)
    return T(uint64_t(a) + uint64_t(b));
  else
    return a + b;
}

// Which tile of which part of which product: tiles of eight rows of tiles one after the other, so that they find each other's
// operands in the cache.
struct TilePlace {
  int64_t i, j, part, entry, begin, end;  // the first row and column; [begin, end) of k
  DY_DEVICE TilePlace(const ProductShape& s, int64_t number, int rows, int columns) {
    constexpr int64_t kBand = 8;
    const int64_t tiles_m = (s.m + rows - 1) / rows, tiles_n = (s.n + columns - 1) / columns, tiles = tiles_m * tiles_n;
    const int64_t whole = number / tiles, tile = number % tiles, band = tile / (kBand * tiles_n), first = band * kBand;
    const int64_t in_band = tiles_m - first < kBand ? tiles_m - first : kBand, rest = tile - first * tiles_n;
    i = (first + rest % in_band) * rows, j = rest / in_band * columns;
    part = whole % s.parts, entry = whole / s.parts;
    begin = part * s.depth, end = begin + s.depth < s.k ? begin + s.depth : s.k;
  }
  static DY_DEVICE int64_t count(const ProductShape& s, int rows, int columns) {
    return ((s.m + rows - 1) / rows) * ((s.n + columns - 1) / columns) * s.parts * s.batch;
  }
};
template <class T> DY_DEVICE T* part_of(T* partial, const ProductShape& s, int64_t part, int64_t entry) {
  return partial + (part * s.batch + entry) * s.m * s.n;
}

// c = the sum of its parts.
template <class T, class C> __global__ void add_parts(const T* partial, C given, ProductShape s) {
  const int64_t size = s.m * s.n, count = size * s.batch;
  for (int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; e < count; e += int64_t(gridDim.x) * blockDim.x) {
    const int64_t entry = e / size, at = e % size;
    T sum = part_of(partial, s, 0, entry)[at];
    for (int64_t part = 1; part < s.parts; ++part) sum = plus(sum, part_of(partial, s, part, entry)[at]);
    given.entry(s, entry).put(at / s.n, at % s.n, sum);
  }
}

// One operand's tile on its way to shared memory, [k][line], by 256 threads: fetched a tile ahead.
template <class T, class Side, int kLines, int kDepth> struct Fetch {
  static constexpr int kEach = kLines * kDepth / 256, kPitch = kLines + 4;
  static_assert(kEach > 0 && 256 % kDepth == 0);
  T value[kEach];
  typename Side::Line line[kEach];

  DY_DEVICE int row(const Side& s, int e) const {
    const int t = int(threadIdx.x);
    return s.along_k ? t / kDepth + e * (256 / kDepth) : t % kLines;
  }
  DY_DEVICE int depth(const Side& s, int e) const {
    const int t = int(threadIdx.x);
    return s.along_k ? t % kDepth : t / kLines + e * (256 / kLines);
  }
  DY_DEVICE void start(const Side& s, int64_t first, int64_t lines) {
    DY_UNROLL for (int e = 0; e < kEach; ++e) {
      const int64_t i = first + row(s, e);
      line[e] = s.line(i < lines ? i : lines - 1);
    }
  }
  DY_DEVICE void fetch(const Side& s, int64_t first, int64_t lines, int64_t k, int64_t end) {
    DY_UNROLL for (int e = 0; e < kEach; ++e) {
      const int64_t i = first + row(s, e), at = k + depth(s, e);
      value[e] = i < lines && at < end ? s.get(line[e], s.step(at)) : T{};
    }
  }
  DY_DEVICE void keep(const Side& s, T (*to)[kPitch]) const {
    DY_UNROLL for (int e = 0; e < kEach; ++e) to[depth(s, e)][row(s, e)] = value[e];
  }
};

// Each thread has kGroups x kGroups squares of 4 x 4 elements.
template <class T, int kGroups, class A, class B, class C>
__global__ void __launch_bounds__(256, 1) tile_product(A given_a, B given_b, C given_c, T* partial, ProductShape s) {
  constexpr int kTile = 64 * kGroups, kDepth = sizeof(T) > 8 || kGroups > 1 ? 8 : 16, kEach = 4 * kGroups;
  using FetchA = Fetch<T, A, kTile, kDepth>;
  using FetchB = Fetch<T, B, kTile, kDepth>;
  __shared__ __align__(16) unsigned char room[2][2][sizeof(T) * kDepth * FetchA::kPitch];
  using Tile = T(*)[FetchA::kPitch];
  const int ty = int(threadIdx.x) / 16 * 4, tx = int(threadIdx.x) % 16 * 4;
  for (int64_t number = blockIdx.x; number < TilePlace::count(s, kTile, kTile); number += gridDim.x) {
    const TilePlace p(s, number, kTile, kTile);
    const A a = given_a.entry(s, p.entry);
    const B b = given_b.entry(s, p.entry);
    T sum[kEach][kEach];
    DY_UNROLL for (int i = 0; i < kEach; ++i) DY_UNROLL for (int j = 0; j < kEach; ++j) sum[i][j] = T{};
    FetchA next_a;
    FetchB next_b;
    next_a.start(a, p.i, s.m), next_b.start(b, p.j, s.n);
    next_a.fetch(a, p.i, s.m, p.begin, p.end), next_b.fetch(b, p.j, s.n, p.begin, p.end);
    int turn = 0;
    for (int64_t k = p.begin; k < p.end; k += kDepth, turn ^= 1) {
      const Tile at = reinterpret_cast<Tile>(room[turn][0]), bt = reinterpret_cast<Tile>(room[turn][1]);
      next_a.keep(a, at), next_b.keep(b, bt);
      __syncthreads();
      if (k + kDepth < p.end) next_a.fetch(a, p.i, s.m, k + kDepth, p.end), next_b.fetch(b, p.j, s.n, k + kDepth, p.end);
      DY_UNROLL for (int d = 0; d < kDepth; ++d) {
        T x[kEach], y[kEach];
        DY_UNROLL for (int i = 0; i < kEach; ++i) x[i] = at[d][i / 4 * 64 + ty + i % 4];
        DY_UNROLL for (int j = 0; j < kEach; ++j) y[j] = bt[d][j / 4 * 64 + tx + j % 4];
        DY_UNROLL for (int i = 0; i < kEach; ++i) DY_UNROLL for (int j = 0; j < kEach; ++j) sum[i][j] =
            multiply_add(x[i], y[j], sum[i][j]);
      }
    }
    __syncthreads();  // the next tile begins with either buffer
    const C c = given_c.entry(s, p.entry);
    T* const part = s.parts > 1 ? part_of(partial, s, p.part, p.entry) : nullptr;
    DY_UNROLL for (int i = 0; i < kEach; ++i) DY_UNROLL for (int j = 0; j < kEach; ++j) {
      const int64_t row = p.i + i / 4 * 64 + ty + i % 4, column = p.j + j / 4 * 64 + tx + j % 4;
      if (row >= s.m || column >= s.n) continue;
      if (part)
        part[row * s.n + column] = sum[i][j];
      else
        c.put(row, column, sum[i][j]);
    }
  }
}

// One operand's tile of 16-bit numbers on its way to shared memory: [line][k] or, where lines are near, [k][line], each row 16
// bytes longer than it is, so that eight of them lie in different banks.
template <class Side, int kLines, int kDepth, int kThreads> struct Fetch16 {
  static constexpr int kRun = Side::kRun, kRuns = kLines * kDepth / kRun, kEach = (kRuns + kThreads - 1) / kThreads;
  static constexpr int kAlong = kDepth + 8, kAcross = kLines + 8;
  static constexpr int kRoom = kLines * kAlong > kDepth* kAcross ? kLines* kAlong : kDepth* kAcross;
  uint32_t value[kEach][kRun / 2];

  static DY_DEVICE int pitch(const Side& s) { return s.along_k ? kAlong : kAcross; }
  DY_DEVICE void fetch(const Side& s, int64_t first, int64_t lines, int64_t k, int64_t end) {
    DY_UNROLL for (int e = 0; e < kEach; ++e) {
      const int r = int(threadIdx.x) + e * kThreads;
      if (kRuns % kThreads && r >= kRuns) break;
      constexpr int kOfLine = kDepth / kRun, kOfStep = kLines >= kRun ? kLines / kRun : 1;
      if (s.along_k)
        s.run(first + r / kOfLine, k + r % kOfLine * kRun, lines, end, value[e]);
      else
        s.run(first + r % kOfStep * kRun, k + r / kOfStep, lines, end, value[e]);
    }
  }
  DY_DEVICE void keep(const Side& s, uint16_t* to) const {
    DY_UNROLL for (int e = 0; e < kEach; ++e) {
      const int r = int(threadIdx.x) + e * kThreads;
      if (kRuns % kThreads && r >= kRuns) break;
      constexpr int kOfLine = kDepth / kRun, kOfStep = kLines >= kRun ? kLines / kRun : 1;
      uint16_t* const at =
          s.along_k ? to + r / kOfLine * kAlong + r % kOfLine * kRun : to + r / kOfStep * kAcross + r % kOfStep * kRun;
      DY_UNROLL for (int i = 0; i < kRun / 2; i += 4) reinterpret_cast<Word16*>(at)[i / 4] =
          Word16{{value[e][i], value[e][i + 1], value[e][i + 2], value[e][i + 3]}};
    }
  }
};

// Shapes of tiles for tensor cores: rows and columns of the block and of a warp, depth in k.
template <int kRows_, int kColumns_, int kDepth_, int kWarpRows_, int kWarpColumns_> struct Tile16 {
  static constexpr int kRows = kRows_, kColumns = kColumns_, kDepth = kDepth_, kWarpRows = kWarpRows_,
                       kWarpColumns = kWarpColumns_;
  static constexpr int kAcross = kColumns / kWarpColumns, kThreads = kRows / kWarpRows * kAcross * 32;
};
using WideTile = Tile16<128, 128, 32, 64, 32>;
using SmallTile = Tile16<64, 64, 32, 32, 32>;
using FlatTile = Tile16<16, 128, 64, 16, 16>;  // of few rows: the right operand passes through once

template <class H, class Tile, class A, class B, class C>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    mma_product(A given_a, B given_b, C given_c, float* partial, ProductShape s) {
  constexpr int kM = Tile::kWarpRows / 16, kN = Tile::kWarpColumns / 8;
  using FetchA = Fetch16<A, Tile::kRows, Tile::kDepth, Tile::kThreads>;
  using FetchB = Fetch16<B, Tile::kColumns, Tile::kDepth, Tile::kThreads>;
  __shared__ __align__(16) uint16_t room[2][FetchA::kRoom + FetchB::kRoom];
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int first_row = warp / Tile::kAcross * Tile::kWarpRows, first_column = warp % Tile::kAcross * Tile::kWarpColumns;
  for (int64_t number = blockIdx.x; number < TilePlace::count(s, Tile::kRows, Tile::kColumns); number += gridDim.x) {
    const TilePlace p(s, number, Tile::kRows, Tile::kColumns);
    const A a = given_a.entry(s, p.entry);
    const B b = given_b.entry(s, p.entry);
    const int pitch_a = FetchA::pitch(a), pitch_b = FetchB::pitch(b);
    const int lane_a = a.along_k ? fragment_a(lane, pitch_a) : fragment_a_turned(lane, pitch_a);
    const int lane_b = b.along_k ? fragment_b(lane, pitch_b) : fragment_b_turned(lane, pitch_b);
    float sum[kM][kN][4] = {};
    FetchA next_a;
    FetchB next_b;
    next_a.fetch(a, p.i, s.m, p.begin, p.end), next_b.fetch(b, p.j, s.n, p.begin, p.end);
    int turn = 0;
    for (int64_t k = p.begin; k < p.end; k += Tile::kDepth, turn ^= 1) {
      uint16_t *const at = room[turn], *const bt = at + FetchA::kRoom;
      next_a.keep(a, at), next_b.keep(b, bt);
      __syncthreads();
      if (k + Tile::kDepth < p.end) {
        next_a.fetch(a, p.i, s.m, k + Tile::kDepth, p.end);
        next_b.fetch(b, p.j, s.n, k + Tile::kDepth, p.end);
      }
      DY_UNROLL for (int d = 0; d < Tile::kDepth; d += 16) {
        uint32_t x[kM][4];
        DY_UNROLL for (int i = 0; i < kM; ++i) {
          const int row = first_row + 16 * i;
          if (a.along_k)
            load_matrices<false>(x[i], at + row * pitch_a + d + lane_a);
          else
            load_matrices<true>(x[i], at + d * pitch_a + row + lane_a);
        }
        DY_UNROLL for (int j = 0; j < kN; j += 2) {
          uint32_t y[4];
          const int column = first_column + 8 * j;
          if (b.along_k)
            load_matrices<false>(y, bt + column * pitch_b + d + lane_b);
          else
            load_matrices<true>(y, bt + d * pitch_b + column + lane_b);
          DY_UNROLL for (int i = 0; i < kM; ++i) {
            mma<H>(sum[i][j], x[i], y[0], y[1]);
            mma<H>(sum[i][j + 1], x[i], y[2], y[3]);
          }
        }
      }
    }
    __syncthreads();
    const C c = given_c.entry(s, p.entry);
    float* const part = s.parts > 1 ? part_of(partial, s, p.part, p.entry) : nullptr;
    DY_UNROLL for (int i = 0; i < kM; ++i) DY_UNROLL for (int j = 0; j < kN; ++j)
        DY_UNROLL for (int half = 0; half < 2; ++half) {
      const int64_t row = p.i + first_row + 16 * i + 8 * half + lane / 4, column = p.j + first_column + 8 * j + lane % 4 * 2;
      const float low = sum[i][j][2 * half], high = sum[i][j][2 * half + 1];
      if (row >= s.m || column >= s.n) continue;
      if (part) {
        part[row * s.n + column] = low;
        if (column + 1 < s.n) part[row * s.n + column + 1] = high;
      } else if (column + 1 < s.n) {
        c.put(row, column, low, high);
      } else {
        c.put(row, column, low);
      }
    }
  }
}

}  // namespace dyadic::gpu
