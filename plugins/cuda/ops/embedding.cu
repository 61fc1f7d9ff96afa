// Rows gathered by index, and their gradient added up by index: positions are sorted by it, stably, and each row of the
// gradient is added by one thread per column in the order of the positions. No atomics: the same bits each time, and the CPU's.
#include "plugins/cuda/copies/assign.h"
#include "plugins/cuda/formats/decode.h"
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/rows/radix.h"
#include "plugins/cuda/rows/usual.h"

namespace dyadic::gpu {
namespace {

constexpr int kThreads = 256;

// A warp copies a row of `words` words.
template <class W>
__global__ void __launch_bounds__(kThreads)
    gather(const W* weight, const int64_t* index, W* out, int64_t count, int64_t rows, int64_t words, Failure* failed, int op) {
  constexpr int kWarps = kThreads / kWarp;
  const int lane = int(threadIdx.x) % kWarp;
  for (int64_t i = int64_t(blockIdx.x) * kWarps + threadIdx.x / kWarp; i < count; i += int64_t(gridDim.x) * kWarps) {
    const int64_t row = index[i];
    if (uint64_t(row) >= uint64_t(rows)) {
      if (lane == 0) fail_index(failed, op, row, rows);
      continue;
    }
    DY_UNROLL_BY(4)
    for (int64_t j = lane; j < words; j += kWarp) out[i * words + j] = weight[row * words + j];
  }
}
// The same of elements that lie apart.
struct Lookup {
  int64_t rows, count, dim;
  int64_t first, row_step, step;  // of the weight, in elements; blocked ones in storage order
};
// f(where an element goes, where it comes from).
template <class F>
__device__ __forceinline__ void for_rows(const int64_t* index, const Lookup& p, Failure* failed, int op, F f) {
  constexpr int kWarps = kThreads / kWarp;
  const int lane = int(threadIdx.x) % kWarp;
  for (int64_t i = int64_t(blockIdx.x) * kWarps + threadIdx.x / kWarp; i < p.count; i += int64_t(gridDim.x) * kWarps) {
    const int64_t row = index[i];
    if (uint64_t(row) >= uint64_t(p.rows)) {
      if (lane == 0) fail_index(failed, op, row, p.rows);
      continue;
    }
    for (int64_t j = lane; j < p.dim; j += kWarp) f(i * p.dim + j, p.first + row * p.row_step + j * p.step);
  }
}
template <class W>
__global__ void __launch_bounds__(kThreads)
    gather_apart(const W* weight, const int64_t* index, W* out, Lookup p, Failure* failed, int op) {
  for_rows(index, p, failed, op, [&](int64_t to, int64_t from) { out[to] = weight[from]; });
}
// Rows of a weight that is stored in blocks: those that are asked for are decoded, and no others.
__global__ void __launch_bounds__(kThreads) gather_stored(Blocked weight, const uint8_t* at, const int64_t* index, void* out,
                                                          Code code, Lookup p, Failure* failed, int op) {
  const bool integers = weight.layout == Layout::packed_integer;
  for_rows(index, p, failed, op, [&](int64_t to, int64_t from) {
    if (integers)
      static_cast<int32_t*>(out)[to] = packed_integer(weight, at, from);
    else if (code == Code::f32)
      static_cast<float*>(out)[to] = blocked_value(weight, at, from);
    else
      store(code, out, to, blocked_value(weight, at, from));
  });
}

struct Gather {
  Lookup lookup;
  Blocked blocked;  // layout none: it is not
  bool dense;
  int width;  // bytes of an element of the result
  Code out;
  Transfer indices;  // where they do not lie densely: a copy
  int64_t copied;    // in the workspace; -1: there is none
};
void run(const Gather& p, const Pointers& at) {
  const Lookup& l = p.lookup;
  if (l.count * l.dim == 0) return;
  const void* given = at.in[1];
  if (p.copied >= 0) {
    p.indices.run(at_place(at.workspace, p.copied), given);
    given = at_place(at.workspace, p.copied);
  }
  const auto* index = static_cast<const int64_t*>(given);
  const Grid grid{.blocks = blocks_for(l.count, kWarp, kThreads), .threads = kThreads};
  if (p.blocked.layout != Layout::none)
    return launch(gather_stored, grid, p.blocked, static_cast<const uint8_t*>(at.in[0]), index, at.out[0], p.out, l, failures(),
                  op_number());
  const int64_t bytes = l.dim * p.width;
  auto by = [&]<class W>() {
    launch(gather<W>, grid, static_cast<const W*>(at.in[0]), index, static_cast<W*>(at.out[0]), l.count, l.rows,
           bytes / int64_t(sizeof(W)), failures(), op_number());
  };
  auto apart = [&]<class W>(W) {
    launch(gather_apart<W>, grid, static_cast<const W*>(at.in[0]), index, static_cast<W*>(at.out[0]), l, failures(),
           op_number());
  };
  auto fits = [&](int64_t n) { return bytes % n == 0 && is_aligned(at.in[0], n) && is_aligned(at.out[0], n); };
  if (p.dense && fits(16)) return by.template operator()<Word16>();
  if (p.dense && fits(4)) return by.template operator()<uint32_t>();
  if (p.dense) return p.width == 2 ? by.template operator()<uint16_t>() : by.template operator()<uint8_t>();
  with_word(p.width, apart);
}
void plan(Call& c) {
  using namespace ops::embedding_op;
  const Operand weight = c.operand(arg::weight), indices = c.operand(arg::indices), out = c.result();
  Room room(c.plan);
  Gather& p = c.plan.make<run, Gather>();
  p.lookup = {weight.lengths[0], indices.count, weight.lengths[1], weight.offset, weight.steps[0], weight.steps[1]};
  p.blocked = {};
  if (weight.format->is_blocked()) {
    p.blocked = blocked_of(*weight.format, weight.geometry);
    DY_CHECK(p.blocked.layout != Layout::none, "embedding: cuda does not read {}: bring the weight to another dtype",
             weight.format->text);
  } else {
    p.lookup.first = 0;
  }
  p.dense = weight.dense, p.width = int(out.itemsize()), p.out = code_of(out.format), p.copied = -1;
  if (indices.dense) return;
  Operand dense = indices;
  int64_t step = 1;
  for (int d = indices.ndim; d-- > 0; step *= indices.lengths[d]) dense.steps[d] = step;
  p.copied = room.take(indices.count * 8), p.indices = plan_transfer(dense, indices);
}

// Keys: indices; those that are none come last, behind all rows, and nobody adds them.
__global__ void __launch_bounds__(kThreads) number_positions(const int64_t* index, uint32_t* keys, uint32_t* numbers,
                                                             int64_t count, int64_t rows, Failure* failed, int op) {
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count; i += int64_t(gridDim.x) * kThreads) {
    const bool is_row = uint64_t(index[i]) < uint64_t(rows);
    if (!is_row) fail_index(failed, op, index[i], rows);
    keys[i] = is_row ? uint32_t(index[i]) : uint32_t(rows), numbers[i] = uint32_t(i);
  }
}
// Where the positions of each row begin among the sorted ones; of row `rows`: where those that are none do.
__global__ void __launch_bounds__(kThreads) find_begins(const uint32_t* keys, int64_t count, int64_t rows, uint32_t* begins) {
  for (int64_t row = int64_t(blockIdx.x) * kThreads + threadIdx.x; row <= rows; row += int64_t(gridDim.x) * kThreads)
    begins[row] = uint32_t(first_not_below(keys, count, uint32_t(row)));
}
// A warp takes some columns of kRowsOfWarp rows at most, one after the other: most rows of a vocabulary are zeros, which wait
// for nothing. kWords: a lane has a word of each row, as it is stored in the gradient and in the result; else one element.
constexpr int kRowsOfWarp = 16;
struct Addition {
  int64_t rows, dim, skip;
  int each;  // rows of a warp
  bool mean;
  Code out;
};
template <class E, bool kWords>
__global__ void __launch_bounds__(kThreads)
    add_rows(const void* grad, const uint32_t* begins, const uint32_t* numbers, void* out, Addition p) {
  using T = typename E::Value;
  constexpr int kN = kWords ? kWide<E> : 1, kAtOnce = 8, kWarps = kThreads / kWarp;
  const auto* from = static_cast<const typename E::Stored*>(grad);
  const int lane = int(threadIdx.x) % kWarp;
  const int64_t stride = int64_t(gridDim.x) * kWarps * p.each;
  for (int64_t first = (int64_t(blockIdx.x) * kWarps + threadIdx.x / kWarp) * p.each; first < p.rows; first += stride) {
    const uint32_t bound = begins[first + lane < p.rows ? first + lane : p.rows];
    for (int r = 0; r < p.each && first + r < p.rows; ++r) {
      const int64_t row = first + r, begin = shuffle_from(bound, r);
      const int64_t end = row == p.skip ? begin : int64_t(shuffle_from(bound, r + 1));
      const T factor = p.mean && end - begin > 1 ? T(1) / T(end - begin) : T(1);
      for (int64_t at = int64_t(blockIdx.y) * kWarp * kN; at < p.dim; at += int64_t(gridDim.y) * kWarp * kN) {
        const int64_t j = at + lane * kN;
        const bool is_one = j < p.dim;
        T sum[kN] = {};
        for (int64_t i = begin; i < end; i += kWarp) {
          const uint32_t number = i + lane < end ? numbers[i + lane] : 0;
          const int n = end - i < kWarp ? int(end - i) : kWarp;
          for (int k = 0; k < n; k += kAtOnce) {
            std::conditional_t<kWords, Packed<E, kWide<E>>, T> word[kAtOnce];
            DY_UNROLL
            for (int m = 0; m < kAtOnce; ++m) {  // all of them are on their way at once
              const auto* const source = from + int64_t(shuffle_from(number, (k + m) % kWarp)) * p.dim + j;
              if (k + m >= n || !is_one) continue;
              if constexpr (kWords)
                word[m].read(source);
              else
                word[m] = E::value(*source);
            }
            DY_UNROLL
            for (int m = 0; m < kAtOnce; ++m) {
              if (k + m >= n) continue;
              T term[kN];
              if constexpr (kWords)
                word[m].unpack(term);
              else
                term[0] = word[m];
              DY_UNROLL
              for (int c = 0; c < kN; ++c)
                sum[c] = std::is_same_v<T, float> ? T(fmaf(float(term[c]), float(factor), float(sum[c])))
                                                  : T(fma(double(term[c]), double(factor), double(sum[c])));
            }
          }
        }
        if (!is_one) continue;
        if constexpr (kWords) {
          Packed<E, kN> sums;
          sums.pack(sum);
          sums.write(static_cast<typename E::Stored*>(out) + row * p.dim + j);
        } else {
          store(p.out, out, row * p.dim + j, sum[0]);
        }
      }
    }
  }
}

struct Scatter {
  Usual grad;
  Code out;
  int64_t rows, dim, count, skip;
  bool mean;
  int64_t keys[2], numbers[2], counts, begins;  // in the workspace
};
void run_backward(const Scatter& p, const Pointers& at) {
  if (p.rows * p.dim == 0) return;
  const void* grad = p.grad.read(at.in[0], at.workspace);
  auto words = [&](int64_t place) { return static_cast<uint32_t*>(at_place(at.workspace, place)); };
  uint32_t *keys = words(p.keys[0]), *numbers = words(p.numbers[0]);
  launch(number_positions, grid_for(p.count, 1, kThreads), static_cast<const int64_t*>(at.in[1]), keys, numbers, p.count,
         p.rows, failures(), op_number());
  int bits = 0;
  while (p.rows >> bits) ++bits;
  if (p.count > 0) radix_sort(keys, numbers, words(p.keys[1]), words(p.numbers[1]), 1, p.count, bits, words(p.counts));
  uint32_t* const begins = words(p.begins);
  launch(find_begins, grid_for(p.rows + 1, 1, kThreads), keys, p.count, p.rows, begins);
  with_usual(p.grad.code, [&]<class E>() {
    const bool by_words = p.out == p.grad.code && p.dim % kWide<E> == 0 && all_aligned(grad, at.out[0]);
    const int64_t columns = kWarp * (by_words ? kWide<E> : 1), across = (p.dim + columns - 1) / columns;
    constexpr int64_t kEnoughWarps = 4096;
    const int64_t each = p.rows * across / kEnoughWarps;
    const Addition a{p.rows, p.dim, p.skip, int(each < 1 ? 1 : each < kRowsOfWarp ? each : kRowsOfWarp), p.mean, p.out};
    const Grid grid{.blocks = blocks_for((p.rows + a.each - 1) / a.each, kWarp, kThreads),
                    .threads = kThreads,
                    .y = int(across < 1024 ? across : 1024)};
    if (by_words)
      launch(add_rows<E, true>, grid, grad, begins, numbers, at.out[0], a);
    else
      launch(add_rows<E, false>, grid, grad, begins, numbers, at.out[0], a);
  });
}
void plan_backward(Call& c) {
  using namespace ops::embedding_backward_op;
  const Operand grad = c.operand(arg::grad);
  Room room(c.plan);
  Scatter& p = c.plan.make<run_backward, Scatter>();
  p.grad = Usual(grad, usual_code(grad.format), room);
  p.out = code_of(c.result().format);
  p.rows = c[arg::num_weights], p.dim = grad.lengths[grad.ndim - 1], p.count = c.operand(arg::indices).count;
  p.skip = c[arg::padding_idx], p.mean = c[arg::scale_grad_by_freq];
  for (int k = 0; k < 2; ++k) p.keys[k] = room.take(p.count * 4), p.numbers[k] = room.take(p.count * 4);
  p.counts = room.take(radix_room(1, p.count)), p.begins = room.take((p.rows + 1) * 4);
}

const Registered embedding{"embedding", {.plan = plan, .blocked = in(0)}};
const Registered embedding_backward{"embedding_backward", {.plan = plan_backward, .dense = true}};

}  // namespace
}  // namespace dyadic::gpu
