// What products read and write: dense matrices of any scalar format, stored ones, results with a bias. See tiles.h.
#pragma once
#include "plugins/cuda/products/tiles.h"
#include "plugins/cuda/rows/collectives.h"

namespace dyadic::gpu {

// The usual formats are read and written in place, all others by one function: a switch in every unrolled loop would be most of
// a kernel.
template <class T> __device__ __noinline__ T load_rare(Code code, const void* at, int64_t i) { return load<T>(code, at, i); }
template <class T> __device__ __noinline__ void store_rare(Code code, void* at, int64_t i, T x) { store(code, at, i, x); }
template <class T> __device__ inline T load_usual(Code code, const void* at, int64_t i) {
  if constexpr (std::is_same_v<T, float>) {
    if (code == Code::f32) return static_cast<const float*>(at)[i];
    if (code == Code::bf16) return bf16_value(static_cast<const uint16_t*>(at)[i]);
    if (code == Code::f16) return half_value(static_cast<const uint16_t*>(at)[i]);
  }
  return load_rare<T>(code, at, i);
}
template <class T> __device__ inline void store_usual(Code code, void* at, int64_t i, T x) {
  if constexpr (std::is_same_v<T, float>) {
    if (code == Code::f32) return void(static_cast<float*>(at)[i] = x);
    if (code == Code::bf16) return void(static_cast<uint16_t*>(at)[i] = brain_nearest(x));
    if (code == Code::f16) return void(static_cast<uint16_t*>(at)[i] = half_nearest(x));
  }
  store_rare<T>(code, at, i, x);
}

template <class T> __device__ __noinline__ T load_bias(Code code, Code as, const void* at, int64_t i) {
  const T x = load<T>(code, at, i);
  if constexpr (std::is_same_v<T, float>) {
    if (as == Code::bf16) return bf16_value(brain_nearest(x));
    if (as == Code::f16) return half_value(half_nearest(x));
  }
  return x;
}

struct SideSteps {  // in elements
  int64_t line = 0, k = 0;
  int64_t entries[kMaxBatchDims];
};

// Elements that are stored as they are computed.
template <class T_> struct Strided {
  using T = T_;
  using Line = int64_t;
  const T* at;
  bool along_k;
  SideSteps steps;
  __device__ Strided entry(const ProductShape& s, int64_t e) const {
    Strided r = *this;
    r.at += s.offset(steps.entries, e);
    return r;
  }
  __device__ int64_t line(int64_t i) const { return i * steps.line; }
  __device__ int64_t step(int64_t k) const { return k * steps.k; }
  __device__ T get(int64_t line, int64_t step) const { return at[line + step]; }
  template <int N> __device__ void values(int64_t i, int64_t k, int64_t depth, T (&x)[N]) const {
    const T* const from = at + i * steps.line + k * steps.k;
    constexpr int kBytes = N * int(sizeof(T)) < 16 ? N * int(sizeof(T)) : 16;
    if (steps.k == 1 && k + N <= depth && is_aligned(from, kBytes)) return read_run(from, x);
    DY_UNROLL for (int e = 0; e < N; ++e) x[e] = k + e < depth ? from[e * steps.k] : T{};
  }
};

// Elements of any scalar format; f32 products may be asked to take fewer bits of them (0, 13 or 16 are dropped).
template <class T_> struct Coded {
  using T = T_;
  using Line = int64_t;
  const void* at;
  bool along_k;
  Code code;
  int dropped;
  SideSteps steps;
  __device__ Coded entry(const ProductShape& s, int64_t e) const {
    Coded r = *this;
    r.at = static_cast<const char*>(at) + s.offset(steps.entries, e) * stored_bytes(code);
    return r;
  }
  __device__ int64_t line(int64_t i) const { return i * steps.line; }
  __device__ int64_t step(int64_t k) const { return k * steps.k; }
  __device__ T get(int64_t line, int64_t step) const {
    const T x = load_usual<T>(code, at, line + step);
    if constexpr (std::is_same_v<T, float>) {
      if (dropped) {
        const uint32_t u = float_bits(x), half = (1u << (dropped - 1)) - 1,
                       kept = (u + half + (u >> dropped & 1u)) >> dropped << dropped;
        return bits_float((u & kAbsMask) >= kInfBits ? u : kept);
      }
    }
    return x;
  }
  template <int N> __device__ void values(int64_t i, int64_t k, int64_t depth, T (&x)[N]) const {
    DY_UNROLL for (int e = 0; e < N; ++e) x[e] = k + e < depth ? get(i * steps.line, (k + e) * steps.k) : T{};
  }
};

// Numbers of 16 bits for tensor cores, as they are stored.
template <class H> struct Dense16 {
  static constexpr int kRun = 8;
  const uint16_t* at;
  bool along_k;
  bool whole;  // runs are aligned
  SideSteps steps;
  __device__ Dense16 entry(const ProductShape& s, int64_t e) const {
    Dense16 r = *this;
    r.at += s.offset(steps.entries, e);
    return r;
  }
  __device__ void run(int64_t i, int64_t k, int64_t lines, int64_t depth, uint32_t (&x)[4]) const {
    const uint16_t* const from = at + i * steps.line + k * steps.k;
    const int64_t left = along_k ? (i < lines ? depth - k : 0) : (k < depth ? lines - i : 0);
    if (whole && left >= kRun) return read_run(reinterpret_cast<const uint32_t*>(from), x);
    const int64_t apart = along_k ? steps.k : steps.line;
    DY_UNROLL for (int e = 0; e < 4; ++e) {
      const uint32_t low = 2 * e < left ? from[2 * e * apart] : 0, high = 2 * e + 1 < left ? from[(2 * e + 1) * apart] : 0;
      x[e] = low | high << 16;
    }
  }
  template <int N> __device__ void values(int64_t i, int64_t k, int64_t depth, float (&x)[N]) const {
    Dense16 lines = *this;
    lines.along_k = true, lines.whole = whole && along_k;
    DY_UNROLL for (int r = 0; r < N; r += kRun) {
      uint32_t both[4];
      lines.run(i, k + r, i + 1, depth, both);
      DY_UNROLL for (int e = 0; e < 4; ++e) x[r + 2 * e] = low16<H>(both[e]), x[r + 2 * e + 1] = high16<H>(both[e]);
    }
  }
};

// Elements of any scalar format, rounded to 16 bits.
template <class H> struct Coded16 {
  static constexpr int kRun = 8;
  Coded<float> from;
  bool along_k;
  __device__ Coded16 entry(const ProductShape& s, int64_t e) const { return {from.entry(s, e), along_k}; }
  __device__ void run(int64_t i, int64_t k, int64_t lines, int64_t depth, uint32_t (&x)[4]) const {
    const int64_t left = along_k ? (i < lines ? depth - k : 0) : (k < depth ? lines - i : 0);
    const int64_t first = i * from.steps.line + k * from.steps.k, apart = along_k ? from.steps.k : from.steps.line;
    DY_UNROLL for (int e = 0; e < 4; ++e) {
      const float low = 2 * e < left ? from.get(first, 2 * e * apart) : 0;
      x[e] = pack16<H>(low, 2 * e + 1 < left ? from.get(first, (2 * e + 1) * apart) : 0);
    }
  }
};

// c, in any format and order, rounded once; a bias of its columns or, where a and b have changed places, of its rows.
template <class T> struct Result {
  void* at;
  Code code;
  int64_t row, column;
  int64_t entries[kMaxBatchDims];
  const void* bias;  // null: none
  Code bias_code;
  Code bias_as;  // what the bias is rounded to first: that of the result, where it has 16 bits
  int64_t bias_step;
  bool bias_by_row;
  __device__ Result entry(const ProductShape& s, int64_t e) const {
    Result r = *this;
    r.at = static_cast<char*>(at) + s.offset(entries, e) * stored_bytes(code);
    return r;
  }
  __device__ T whole(int64_t i, int64_t j, T x) const {
    return bias ? plus(x, load_bias<T>(bias_code, bias_as, bias, (bias_by_row ? i : j) * bias_step)) : x;
  }
  __device__ void put(int64_t i, int64_t j, T x) const { store_usual<T>(code, at, i * row + j * column, whole(i, j, x)); }
  __device__ void put(int64_t i, int64_t j, T x, T y) const {
    if constexpr (std::is_same_v<T, float>) {
      const int64_t first = i * row + j * column;
      if (column == 1 && first % 2 == 0 && (code == Code::bf16 || code == Code::f16) && is_aligned(at, 4)) {
        const float low = whole(i, j, x), high = whole(i, j + 1, y);
        const bool brain = code == Code::bf16;
        const uint32_t both = uint32_t(brain ? brain_nearest(low) : half_nearest(low)) |
                              uint32_t(brain ? brain_nearest(high) : half_nearest(high)) << 16;
        reinterpret_cast<Word4*>(static_cast<uint16_t*>(at) + first)->part = both;
        return;
      }
    }
    put(i, j, x), put(i, j + 1, y);
  }
};

// Few rows: a warp takes some columns of b, whose lines are read once, and adds up lane by lane and then in a tree.
template <int kRows, int kColumns, int kRun, class T, class A, class B, class C>
__global__ void __launch_bounds__(256, kRun > 8 ? 1 : 2)
    dot_product(A given_a, B given_b, C given_c, T* partial, ProductShape s) {
  constexpr int kBlock = 8 * kColumns;
  const int lane = int(threadIdx.x) % kWarp, warp = int(threadIdx.x) / kWarp;
  for (int64_t number = blockIdx.x; number < TilePlace::count(s, kRows, kBlock); number += gridDim.x) {
    const TilePlace p(s, number, kRows, kBlock);
    const A a = given_a.entry(s, p.entry);
    const B b = given_b.entry(s, p.entry);
    const int64_t first = p.j + warp * kColumns;
    if (first >= s.n) continue;
    T sum[kRows][kColumns];
    DY_UNROLL for (int i = 0; i < kRows; ++i) DY_UNROLL for (int j = 0; j < kColumns; ++j) sum[i][j] = T{};
    for (int64_t k = p.begin + lane * kRun; k < p.end; k += kWarp * kRun) {
      T y[kColumns][kRun];
      DY_UNROLL for (int j = 0; j < kColumns; ++j) b.values(first + j < s.n ? first + j : s.n - 1, k, p.end, y[j]);
      DY_UNROLL for (int i = 0; i < kRows; ++i) {
        T x[kRun];
        a.values(p.i + i < s.m ? p.i + i : s.m - 1, k, p.end, x);
        DY_UNROLL for (int j = 0; j < kColumns; ++j) DY_UNROLL for (int e = 0; e < kRun; ++e) sum[i][j] =
            multiply_add(x[e], y[j][e], sum[i][j]);
      }
    }
    const C c = given_c.entry(s, p.entry);
    T* const part = s.parts > 1 ? part_of(partial, s, p.part, p.entry) : nullptr;
    DY_UNROLL for (int i = 0; i < kRows; ++i) DY_UNROLL for (int j = 0; j < kColumns; ++j) {
      const T whole = warp_all<kWarp>(sum[i][j], Plus{});
      const int64_t row = p.i + i, column = first + j;
      if (lane != (i * kColumns + j) % kWarp || row >= s.m || column >= s.n) continue;
      if (part)
        part[row * s.n + column] = whole;
      else
        c.put(row, column, whole);
    }
  }
}

}  // namespace dyadic::gpu
