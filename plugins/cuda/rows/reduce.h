// The kernels of all reductions, over an operation with
//   T, Lane, State            elements as it takes them, what a few of them become, what those are merged to,
//   kAtOnce, kIsWide          chunks of a row that a thread reads at once, and whether it may read columns by words,
//   lane(), add(l, x, i)      nothing, and what element x with number i makes of it,
//   start(), join(s, l)       the same of states and lanes; merge(a, b) of two states,
//   write(results, k, s)      result number k.
// Rows are reduced by groups of threads along them, columns by threads side by side; either in parts where there are few, whose
// states are merged by a second kernel. Which element meets which depends on sizes and strides alone.
#pragma once
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/rows/collectives.h"
#include "plugins/cuda/rows/usual.h"

namespace dyadic::gpu {

struct Reduced {
  Space<1> kept, gone;          // gone: of any order where no index is asked for
  int64_t parts = 1, each = 0;  // each: units (chunks of rows, entries of columns) of one part
  int wide = 32;                // columns of a block
  int across = 1;               // columns that a thread reads at once; above 1: reduce_wide_columns
  enum class Row : uint8_t {
    whole,
    eights,
    single
  } row = Row::single;  // rows lie as they are read; in pieces of chunks; otherwise
  bool aligned = false;
};
struct Results {
  void* at[2];
  Code code[2];  // a usual format, or an integer's
  int width[2];  // bytes of an element
};
template <class T> __device__ __forceinline__ void store_result(const Results& out, int j, int64_t i, T x) {
  void* const at = out.at[j];
  if constexpr (std::is_floating_point_v<T>) {
    if (out.code[j] == Code::f32)
      static_cast<float*>(at)[i] = float(x);
    else if (out.code[j] == Code::bf16)
      static_cast<uint16_t*>(at)[i] = ElementOf<Code::bf16>::stored(x);
    else if (out.code[j] == Code::f16)
      static_cast<uint16_t*>(at)[i] = ElementOf<Code::f16>::stored(x);
    else if (out.code[j] == Code::i64)
      static_cast<int64_t*>(at)[i] = int64_t(x);
    else
      static_cast<double*>(at)[i] = double(x);
  } else {
    if (out.width[j] == 1)
      static_cast<uint8_t*>(at)[i] = uint8_t(x);
    else if (out.width[j] == 2)
      static_cast<uint16_t*>(at)[i] = uint16_t(x);
    else if (out.width[j] == 4)
      static_cast<uint32_t*>(at)[i] = uint32_t(x);
    else
      static_cast<uint64_t*>(at)[i] = uint64_t(x);
  }
}

// What reads elements as T: of one format, or of a few, told at run time.
template <class E> struct Reads {
  using Element = E;
  using T = typename E::Value;
  __device__ __forceinline__ T one(const void* at, int64_t i) const {
    return E::value(static_cast<const typename E::Stored*>(at)[i]);
  }
  using Eight = Packed<E, kChunk>;  // on its way
  __device__ __forceinline__ void eight(const void* at, int64_t i, Eight& v) const {
    v.read(static_cast<const typename E::Stored*>(at) + i);
  }
};
template <class X> struct EightOf {
  X v[kChunk];
  __device__ __forceinline__ void unpack(X (&to)[kChunk]) const {
    DY_UNROLL
    for (int j = 0; j < kChunk; ++j) to[j] = v[j];
  }
};
struct ReadsFloats {
  using T = float;
  Code code;
  __device__ __forceinline__ float one(const void* at, int64_t i) const {
    if (code == Code::f32) return static_cast<const float*>(at)[i];
    const uint16_t bits = static_cast<const uint16_t*>(at)[i];
    return code == Code::bf16 ? bf16_value(bits) : half_value(bits);
  }
  using Eight = EightOf<float>;
  __device__ __forceinline__ void eight(const void* at, int64_t i, Eight& to) const {
    if (code == Code::f32) return load_run<ElementOf<Code::f32>>(at, i, to.v);
    if (code == Code::bf16) return load_run<ElementOf<Code::bf16>>(at, i, to.v);
    load_run<ElementOf<Code::f16>>(at, i, to.v);
  }
};
struct ReadsIntegers {
  using T = int64_t;
  Code code;
  __device__ __forceinline__ int64_t one(const void* at, int64_t i) const {
    switch (code) {
      case Code::i64:
      case Code::u64:
        return static_cast<const int64_t*>(at)[i];
      case Code::i32:
        return static_cast<const int32_t*>(at)[i];
      case Code::u32:
        return static_cast<const uint32_t*>(at)[i];
      case Code::i16:
        return static_cast<const int16_t*>(at)[i];
      case Code::u16:
        return static_cast<const uint16_t*>(at)[i];
      case Code::i8:
        return static_cast<const int8_t*>(at)[i];
      case Code::boolean:
        return static_cast<const uint8_t*>(at)[i] != 0;
      default:
        return static_cast<const uint8_t*>(at)[i];
    }
  }
  using Eight = EightOf<int64_t>;
  __device__ __forceinline__ void eight(const void* at, int64_t i, Eight& to) const {
    if (code == Code::i64 || code == Code::u64) return load_run<ElementOf<Code::i64>>(at, i, to.v);
    if (code == Code::boolean) return load_run<ElementOf<Code::boolean>>(at, i, to.v);
    DY_UNROLL
    for (int j = 0; j < kChunk; ++j) to.v[j] = one(at, i + j);
  }
};

constexpr int kReduceThreads = 256, kColumnBlocks = 2;
template <class R> constexpr int kRowBlocks = sizeof(typename R::Eight) <= 16 ? 3 : 2;  // of a multiprocessor, at least

template <class Op, class R, int kGroup>
__global__ void __launch_bounds__(kReduceThreads, kRowBlocks<R>)
    reduce_rows(Op op, R reads, const void* x, Reduced p, Results out, void* partial) {
  using State = typename Op::State;
  __shared__ State room[kGroupRoom<kGroup>];
  constexpr int kRows = kReduceThreads / kGroup;
  const int t = int(threadIdx.x) % kGroup;
  const int64_t n = p.gone.count, part = blockIdx.y;
  for (int64_t first = int64_t(blockIdx.x) * kRows; first < p.kept.count; first += int64_t(gridDim.x) * kRows) {
    const int64_t r = first + threadIdx.x / kGroup;
    int64_t base[1] = {0};
    if (r < p.kept.count) p.kept.offsets(r, base);
    const int64_t off = p.row == Reduced::Row::whole ? base[0] & (kChunk - 1) : 0;
    const int64_t units = p.row == Reduced::Row::single ? n : (n + off + kChunk - 1) / kChunk;
    const int64_t begin = part * p.each, stop = begin + p.each < units ? begin + p.each : units,
                  end = r < p.kept.count ? stop : begin;
    State state = op.start();
    if (p.row == Reduced::Row::single) {
      for (int64_t i = begin + t; i < end; i += kGroup) {
        int64_t at[1];
        p.gone.offsets(i, at);
        auto lane = op.lane();
        op.add(lane, reads.one(x, base[0] + at[0]), i);
        op.join(state, lane);
      }
    } else {
      // The tensor's chunks that are wholly in the row, then what there is of the first and of the last.
      auto one_by_one = [&](int64_t c) {
        const int64_t i = c * kChunk - off;
        int64_t at[1] = {i};
        if (p.row == Reduced::Row::eights) p.gone.offsets(i, at);
        auto lane = op.lane();
        DY_UNROLL_BY(1)
        for (int j = 0; j < kChunk; ++j)
          if (i + j >= 0 && i + j < n) op.add(lane, reads.one(x, base[0] + at[0] + j), i + j);
        op.join(state, lane);
      };
      const int64_t whole_begin = off > 0, whole_end = (n + off) / kChunk;
      const int64_t from = begin > whole_begin ? begin : whole_begin, to = end < whole_end ? end : whole_end;
      auto add_eight = [&](const typename R::Eight& eight, int64_t c) {
        const int64_t i = c * kChunk - off;
        typename R::T v[kChunk];
        eight.unpack(v);
        auto lane = op.lane();
        DY_UNROLL
        for (int j = 0; j < kChunk; ++j) op.add(lane, v[j], i + j);
        op.join(state, lane);
      };
      const bool whole = p.row == Reduced::Row::whole;
      for (int64_t c = from + t; p.aligned && whole && c < to; c += kGroup * Op::kAtOnce) {
        typename R::Eight eight[Op::kAtOnce];
        DY_UNROLL
        for (int k = 0; k < Op::kAtOnce; ++k)  // all of them are on their way at once
          if (c + k * kGroup < to) reads.eight(x, base[0] + (c + k * kGroup) * kChunk - off, eight[k]);
        DY_UNROLL
        for (int k = 0; k < Op::kAtOnce; ++k)
          if (c + k * kGroup < to) add_eight(eight[k], c + k * kGroup);
      }
      DY_UNROLL_BY(1)
      for (int64_t c = from + t; p.aligned && !whole && c < to; c += kGroup) {
        int64_t at[1];
        p.gone.offsets(c * kChunk, at);
        typename R::Eight eight;
        reads.eight(x, base[0] + at[0], eight);
        add_eight(eight, c);
      }
      for (int64_t c = p.aligned ? to : from + t; c < to; c += kGroup) one_by_one(c);
      if (t == 0 && begin < whole_begin && begin < end) one_by_one(0);
      const bool ends_here = begin < end && end == units && units > whole_end && units > whole_begin;
      if (t == kGroup - 1 && ends_here) one_by_one(units - 1);
    }
    state = group_all<kGroup>(state, room, [&](State a, State b) { return op.merge(a, b); });
    if (t != 0 || r >= p.kept.count) continue;
    if (partial)
      static_cast<State*>(partial)[r * p.parts + part] = state;
    else
      op.write(out, r, state);
  }
}

template <class Op, class R>
__global__ void __launch_bounds__(kReduceThreads, kColumnBlocks)
    reduce_columns(Op op, R reads, const void* x, Reduced p, Results out, void* partial) {
  using State = typename Op::State;
  constexpr int kTogether = 8;  // entries of a lane
  __shared__ State room[kReduceThreads];
  const int at = int(threadIdx.x) % p.wide, deep = int(threadIdx.x) / p.wide, depth = kReduceThreads / p.wide;
  const int64_t part = blockIdx.y, begin = part * p.each, n = p.gone.count, end = begin + p.each < n ? begin + p.each : n;
  for (int64_t first = int64_t(blockIdx.x) * p.wide; first < p.kept.count; first += int64_t(gridDim.x) * p.wide) {
    const int64_t c = first + at;
    State state = op.start();
    if (c < p.kept.count) {
      int64_t base[1];
      p.kept.offsets(c, base);
      const int64_t step = p.gone.ndim ? p.gone.stride[0][0] : 0;
      for (int64_t i = begin + deep; p.gone.ndim < 2 && i < end; i += int64_t(depth) * kTogether) {
        auto lane = op.lane();
        typename R::T v[kTogether];
        DY_UNROLL
        for (int k = 0; k < kTogether; ++k) {  // all of them are on their way at once
          const int64_t e = i + int64_t(k) * depth;
          v[k] = e < end ? reads.one(x, base[0] + e * step) : typename R::T(0);
        }
        DY_UNROLL
        for (int k = 0; k < kTogether; ++k)
          if (i + int64_t(k) * depth < end) op.add(lane, v[k], i + int64_t(k) * depth);
        op.join(state, lane);
      }
      DY_UNROLL_BY(1)
      for (int64_t i = begin + deep; p.gone.ndim > 1 && i < end; i += depth) {
        int64_t there[1];
        p.gone.offsets(i, there);
        auto lane = op.lane();
        op.add(lane, reads.one(x, base[0] + there[0]), i);
        op.join(state, lane);
      }
    }
    __syncthreads();
    room[threadIdx.x] = state;
    __syncthreads();
    if (deep > 0 || c >= p.kept.count) continue;
    for (int k = 1; k < depth; ++k) state = op.merge(state, room[k * p.wide + at]);
    if (partial)
      static_cast<State*>(partial)[c * p.parts + part] = state;
    else
      op.write(out, c, state);
  }
}

// The same of columns that lie side by side in whole words, of which a thread has one per entry.
template <class Op, class E>
__global__ void __launch_bounds__(kReduceThreads, kColumnBlocks)
    reduce_wide_columns(Op op, const void* x, Reduced p, Results out, void* partial) {
  using State = typename Op::State;
  constexpr int kTogether = 8, kN = kWide<E>;
  __shared__ State room[kReduceThreads * kN];
  const int lanes = p.wide / kN, at = int(threadIdx.x) % lanes, deep = int(threadIdx.x) / lanes, depth = kReduceThreads / lanes;
  const int64_t part = blockIdx.y, begin = part * p.each, n = p.gone.count, end = begin + p.each < n ? begin + p.each : n;
  const int64_t step = p.gone.ndim ? p.gone.stride[0][0] : 0;
  const auto* const from = static_cast<const typename E::Stored*>(x);
  for (int64_t first = int64_t(blockIdx.x) * p.wide; first < p.kept.count; first += int64_t(gridDim.x) * p.wide) {
    State state[kN];
    DY_UNROLL
    for (State& s : state) s = op.start();
    if (first + at * kN < p.kept.count) {
      int64_t base[1];
      p.kept.offsets(first + at * kN, base);
      for (int64_t i = begin + deep; i < end; i += int64_t(depth) * kTogether) {
        Packed<E, kN> word[kTogether];
        DY_UNROLL
        for (int k = 0; k < kTogether; ++k) {  // all of them are on their way at once
          const int64_t e = i + int64_t(k) * depth;
          if (e < end && p.aligned) word[k].read(from + base[0] + e * step);
        }
        DY_UNROLL
        for (int k = 0; k < kTogether && !p.aligned; ++k) {
          const int64_t e = i + int64_t(k) * depth;
          typename E::Value v[kN];
          DY_UNROLL
          for (int j = 0; j < kN; ++j) v[j] = e < end ? E::value(from[base[0] + e * step + j]) : typename E::Value(0);
          word[k].pack(v);
        }
        typename Op::Lane lane[kN];
        DY_UNROLL
        for (auto& l : lane) l = op.lane();
        DY_UNROLL
        for (int k = 0; k < kTogether; ++k) {
          const int64_t e = i + int64_t(k) * depth;
          if (e >= end) continue;
          typename E::Value v[kN];
          word[k].unpack(v);
          DY_UNROLL
          for (int j = 0; j < kN; ++j) op.add(lane[j], v[j], e);
        }
        DY_UNROLL
        for (int j = 0; j < kN; ++j) op.join(state[j], lane[j]);
      }
    }
    __syncthreads();
    DY_UNROLL
    for (int j = 0; j < kN; ++j) room[threadIdx.x * kN + j] = state[j];
    for (int half = depth / 2; half > 0; half /= 2) {
      __syncthreads();
      for (int k = int(threadIdx.x); k < half * p.wide; k += kReduceThreads)
        room[k] = op.merge(room[k], room[k + half * p.wide]);
    }
    __syncthreads();
    for (int k = int(threadIdx.x); k < p.wide && first + k < p.kept.count; k += kReduceThreads) {
      if (partial)
        static_cast<State*>(partial)[(first + k) * p.parts + part] = room[k];
      else
        op.write(out, first + k, room[k]);
    }
  }
}

// Results of parts: a warp for each.
template <class Op>
__global__ void __launch_bounds__(kReduceThreads)
    merge_parts(Op op, const void* partial, int64_t parts, int64_t count, Results out) {
  using State = typename Op::State;
  constexpr int kWarps = kReduceThreads / kWarp;
  for (int64_t first = int64_t(blockIdx.x) * kWarps; first < count; first += int64_t(gridDim.x) * kWarps) {
    const int64_t r = first + threadIdx.x / kWarp;
    State state = op.start();
    for (int64_t k = threadIdx.x % kWarp; k < parts && r < count; k += kWarp)
      state = op.merge(state, static_cast<const State*>(partial)[r * parts + k]);
    state = warp_all<kWarp>(state, [&](State a, State b) { return op.merge(a, b); });
    if (threadIdx.x % kWarp == 0 && r < count) op.write(out, r, state);
  }
}

// A call's geometry, and what its kernels are given.
struct Reduction {
  Reduced shape;
  Code x;
  Usual y[2];
  Transfer copy;        // to x, of a format that kernels are not compiled for
  int64_t copied;       // in the workspace; -1: there is no copy
  bool columns, warps;  // warps: one per row, else blocks
  int64_t partial;      // in the workspace; -1: one part
  double count;         // elements of each result
};
// `index`: an index along them is asked for. `state`: bytes of a State, at most. `across`: columns may be read by words; the
// format of x is then known to what reads it.
void plan_reduction(Call& c, Reduction& p, int64_t state, bool index, bool across = false);

template <class Op, class R> void run_reduction(const Reduction& p, const Op& op, const R& reads, const Pointers& at) {
  Reduced s = p.shape;
  if (s.kept.count == 0) return;
  const void* x = at.in[0];
  if (p.copied >= 0) {
    void* const dense = at_place(at.workspace, p.copied);
    p.copy.run(dense, x);
    x = dense;
  }
  Results out{};
  for (int j = 0; j < 2; ++j) {
    out.code[j] = p.y[j].code;
    if (!p.y[j].defined()) continue;
    out.at[j] = p.y[j].open(at.out[j], at.workspace), out.width[j] = stored_bytes(p.y[j].code);
  }
  void* partial = p.partial < 0 ? nullptr : at_place(at.workspace, p.partial);
  s.aligned = is_aligned(x);
  Grid grid{.blocks = 0, .threads = kReduceThreads, .y = int(s.parts)};
  if (p.columns) {
    grid.blocks = blocks_for(s.kept.count, 1, s.wide);
    if constexpr (Op::kIsWide && requires { typename R::Element; })
      if (s.across > 1) launch(reduce_wide_columns<Op, typename R::Element>, grid, op, x, s, out, partial);
    if (s.across == 1) launch(reduce_columns<Op, R>, grid, op, reads, x, s, out, partial);
  } else if (p.warps) {
    grid.blocks = blocks_for(s.kept.count, kWarp, kReduceThreads);
    launch(reduce_rows<Op, R, kWarp>, grid, op, reads, x, s, out, partial);
  } else {
    grid.blocks = blocks_for(s.kept.count, 1, 1);
    launch(reduce_rows<Op, R, kReduceThreads>, grid, op, reads, x, s, out, partial);
  }
  grid = {.blocks = blocks_for(s.kept.count, kWarp, kReduceThreads), .threads = kReduceThreads};
  if (partial) launch(merge_parts<Op>, grid, op, static_cast<const void*>(partial), s.parts, s.kept.count, out);
  for (int j = 0; j < 2; ++j) p.y[j].close(at.out[j], at.workspace);
}

}  // namespace dyadic::gpu
