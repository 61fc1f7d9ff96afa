// Order within rows: sorting, the first k, the k-th, the mode. Values become unsigned keys in their order (NaN last, both zeros
// equal), and keys are sorted with their places, stably: short rows by a network in shared memory, several of them in a block,
// long ones by radix.
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/rows/along.h"
#include "plugins/cuda/rows/radix.h"
#include "plugins/cuda/rows/usual.h"

namespace dyadic::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kNetwork = 2048;  // elements that a block sorts

struct Keys {
  Code code;
  int bytes;  // of a key that differ at all: the upper ones of floats, for bf16 and f8 two
  bool floating, is_signed, invert;
};
__device__ __forceinline__ uint32_t ordered(float x) {
  const uint32_t u = float_bits(x + 0.0f);  // -0 becomes 0
  return x != x ? ~0u : u ^ (uint32_t(int32_t(u) >> 31) | 0x80000000u);
}
__device__ __forceinline__ uint64_t ordered(double x) {
  const uint64_t u = double_bits(x + 0.0);
  return x != x ? ~uint64_t(0) : u ^ (uint64_t(int64_t(u) >> 63) | uint64_t(1) << 63);
}
template <class K> __host__ __device__ __forceinline__ K last_key(const Keys& k) {
  return K(~K(0)) >> (8 * (int(sizeof(K)) - k.bytes));
}
template <class K> __device__ __forceinline__ K key_of(const Keys& k, const void* x, int64_t i) {
  using F = std::conditional_t<sizeof(K) == 4, float, double>;
  K key;
  if (k.floating)
    key = ordered(load<F>(k.code, x, i)) >> (8 * (int(sizeof(K)) - k.bytes));
  else
    key = K(load<int64_t>(k.code, x, i)) + (k.is_signed ? K(1) << (8 * k.bytes - 1) : K(0));
  return k.invert ? key ^ last_key<K>(k) : key & last_key<K>(k);
}

// Rows of n elements; `padded`: of a row in the network, a power of two.
template <class K>
__global__ void __launch_bounds__(kThreads)
    sort_short(Keys keys, const void* x, int64_t rows, int64_t n, int padded, K* sorted, uint32_t* places) {
  __shared__ K key[kNetwork];
  __shared__ uint32_t place[kNetwork];
  const int each = int(kNetwork) / padded;
  for (int64_t first = int64_t(blockIdx.x) * each; first < rows; first += int64_t(gridDim.x) * each) {
    __syncthreads();
    for (int e = int(threadIdx.x); e < int(kNetwork); e += kThreads) {
      const int64_t r = first + e / padded, i = e % padded;
      const bool is_one = r < rows && i < n;
      key[e] = is_one ? key_of<K>(keys, x, r * n + i) : K(~K(0));
      place[e] = uint32_t(i);
    }
    for (int size = 2; size <= padded; size *= 2)
      for (int by = size / 2; by > 0; by /= 2) {
        __syncthreads();
        for (int pair = int(threadIdx.x); pair < int(kNetwork) / 2; pair += kThreads) {
          const int a = pair / by * 2 * by + pair % by, b = a + by;
          const bool up = !(a & (padded - 1) & size) || size == padded;
          const bool after = key[a] > key[b] || (key[a] == key[b] && place[a] > place[b]);
          if (after != up) continue;
          const K k = key[a];
          key[a] = key[b], key[b] = k;
          const uint32_t p = place[a];
          place[a] = place[b], place[b] = p;
        }
      }
    __syncthreads();
    for (int e = int(threadIdx.x); e < int(kNetwork); e += kThreads) {
      const int64_t r = first + e / padded, i = e % padded;
      if (r < rows && i < n) sorted[r * n + i] = key[e], places[r * n + i] = place[e];
    }
  }
}
template <class K>
__global__ void __launch_bounds__(kThreads)
    make_keys(Keys keys, const void* x, int64_t rows, int64_t n, K* key, uint32_t* places) {
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < rows * n; i += int64_t(gridDim.x) * kThreads)
    key[i] = key_of<K>(keys, x, i), places[i] = uint32_t(i % n);
}

// The results' indices: a row's first ones, those at given ranks, the k-th.
__global__ void __launch_bounds__(kThreads)
    choose_first(const uint32_t* places, int64_t n, int64_t columns, int64_t count, int64_t* out) {
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count; i += int64_t(gridDim.x) * kThreads)
    out[i] = places[i / columns * n + i % columns];
}
__global__ void __launch_bounds__(kThreads)
    choose_ranks(const uint32_t* places, const int64_t* ranks, int64_t n, int64_t columns, int64_t count, int64_t* out,
                 Failure* failed, int op) {
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count; i += int64_t(gridDim.x) * kThreads) {
    const bool is_rank = uint64_t(ranks[i]) < uint64_t(n);
    if (!is_rank) fail_index(failed, op, ranks[i], n);
    out[i] = places[i / columns * n + (is_rank ? ranks[i] : 0)];
  }
}
constexpr int64_t kNanMedian = -2;  // of what is not NaN; -1: the lower median, NaN if there is one
template <class K>
__global__ void __launch_bounds__(kThreads)
    choose_kth(const K* sorted, const uint32_t* places, Keys keys, int64_t rows, int64_t n, int64_t wanted, int64_t* out) {
  for (int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x; r < rows; r += int64_t(gridDim.x) * kThreads) {
    int64_t rank = wanted;
    if (wanted < 0) {
      const int64_t numbers = keys.floating ? first_not_below(sorted + r * n, n, last_key<K>(keys)) : n;
      rank = wanted == kNanMedian || numbers == n ? ((numbers > 1 ? numbers : 1) - 1) / 2 : numbers;
    }
    out[r] = places[r * n + rank];
  }
}
// The value that comes most often, the smallest of several, where it stands last. Each NaN is a value of its own, and the first
// of values that all come once.
struct Most {
  int64_t length, last;
};
template <class K>
__global__ void __launch_bounds__(kThreads)
    choose_mode(const K* sorted, const uint32_t* places, Keys keys, int64_t rows, int64_t n, int64_t* out) {
  __shared__ Most room[kGroupRoom<kThreads>];
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const K* key = sorted + r * n;
    const int64_t numbers = keys.floating ? first_not_below(key, n, last_key<K>(keys)) : n;
    Most best{0, 0};
    auto longer = [](Most a, Most b) { return b.length > a.length || (b.length == a.length && b.last < a.last) ? b : a; };
    for (int64_t i = threadIdx.x; i < n; i += kThreads) {
      const bool is_nan = i >= numbers;
      if (i + 1 < n && !is_nan && key[i + 1] == key[i]) continue;  // not the last of its equals
      best = longer(best, {is_nan ? 1 : i - first_not_below(key, i, key[i]) + 1, i});
    }
    best = group_all<kThreads>(best, room, longer);
    if (threadIdx.x == 0) out[r] = places[r * n + (best.length == 1 && numbers < n ? numbers : best.last)];
  }
}
template <class W>
__global__ void __launch_bounds__(kThreads)
    pick(const W* x, const int64_t* index, int64_t n, int64_t columns, int64_t count, W* out) {
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count; i += int64_t(gridDim.x) * kThreads)
    out[i] = x[i / columns * n + index[i]];
}

enum class Choice : uint8_t { first, ranks, kth, mode };
struct Order {
  Choice choice;
  Keys keys;
  int width;  // bytes of an element
  int64_t rows, n, columns, wanted;
  int64_t key[2], place[2], counts;  // in the workspace
};

template <class K> void order(const Order& p, const Pointers& at) {
  auto words = [&](int64_t place) { return static_cast<uint32_t*>(at_place(at.workspace, place)); };
  K *keys = static_cast<K*>(at_place(at.workspace, p.key[0])), *other = static_cast<K*>(at_place(at.workspace, p.key[1]));
  uint32_t* places = words(p.place[0]);
  const void* x = at.in[0];
  if (p.n <= kNetwork) {
    int padded = 1;
    while (padded < p.n) padded *= 2;
    const int64_t each = kNetwork / padded;
    launch(sort_short<K>, {.blocks = blocks_for(p.rows, 1, int(each)), .threads = kThreads}, p.keys, x, p.rows, p.n, padded,
           keys, places);
  } else {
    launch(make_keys<K>, grid_for(p.rows * p.n, 1, kThreads), p.keys, x, p.rows, p.n, keys, places);
    radix_sort(keys, places, other, words(p.place[1]), p.rows, p.n, 8 * p.keys.bytes, at_place(at.workspace, p.counts));
  }
  auto* index = static_cast<int64_t*>(at.out[1]);
  const int64_t count = p.rows * p.columns;
  if (p.choice == Choice::first)
    launch(choose_first, grid_for(count, 1, kThreads), places, p.n, p.columns, count, index);
  else if (p.choice == Choice::ranks)
    launch(choose_ranks, grid_for(count, 1, kThreads), places, static_cast<const int64_t*>(at.in[1]), p.n, p.columns, count,
           index, failures(), op_number());
  else if (p.choice == Choice::kth)
    launch(choose_kth<K>, grid_for(p.rows, 1, kThreads), keys, places, p.keys, p.rows, p.n, p.wanted, index);
  else
    launch(choose_mode<K>, {.blocks = blocks_for(p.rows, 1, 1), .threads = kThreads}, keys, places, p.keys, p.rows, p.n, index);
  auto copy = [&]<class W>() {
    launch(pick<W>, grid_for(count, 1, kThreads), static_cast<const W*>(x), index, p.n, p.columns, count,
           static_cast<W*>(at.out[0]));
  };
  if (p.width == 1) return copy.template operator()<uint8_t>();
  if (p.width == 2) return copy.template operator()<uint16_t>();
  if (p.width == 4) return copy.template operator()<uint32_t>();
  copy.template operator()<uint64_t>();
}
void run(const Order& p, const Pointers& at) {
  if (p.rows * p.n == 0 || p.columns == 0) return;
  p.keys.bytes == 8 ? order<uint64_t>(p, at) : order<uint32_t>(p, at);
}

Order& plan_order(Call& c, Choice choice, bool backwards) {
  const Operand x = c.operand(0), values = c.result();
  const FormatDef& f = *x.format->def;
  Order& p = c.plan.make<run, Order>();
  const bool floating = f.kind == Kind::floating;
  const int whole = f.bits <= 8 ? 1 : f.bits <= 16 ? 2 : f.bits <= 32 ? 4 : 8;
  const int real = f.bits > 32 ? 8 : f.bits > 16 ? 4 : f.mantissa_bits <= 7 ? 2 : 3;
  p = {.choice = choice,
       .keys = {code_of(x.format), floating ? real : whole, floating, f.kind == Kind::sint, backwards},
       .width = int(x.itemsize()),
       .rows = 1,
       .n = 1,
       .columns = 1,
       .wanted = 0,
       .key = {},
       .place = {},
       .counts = 0};
  if (x.ndim) p.n = x.lengths[x.ndim - 1];
  for (int d = 0; d + 1 < x.ndim; ++d) p.rows *= x.lengths[d];
  if (values.ndim) p.columns = values.lengths[values.ndim - 1];
  Room room(c.plan);
  const int64_t count = p.rows * p.n, bytes = p.keys.bytes == 8 ? 8 : 4;
  const bool is_long = p.n > kNetwork;
  for (int k = 0; k < 2; ++k) {
    p.key[k] = room.take(k == 0 || is_long ? count * bytes : 0);
    p.place[k] = room.take(k == 0 || is_long ? count * 4 : 0);
  }
  p.counts = room.take(is_long ? radix_room(p.rows, p.n) : 0);
  return p;
}
void plan_sort(Call& c) { plan_order(c, Choice::first, c[ops::sort_rows_op::arg::descending]); }
void plan_top(Call& c) { plan_order(c, Choice::first, c[ops::top_rows_op::arg::largest]); }
void plan_kth(Call& c) { plan_order(c, Choice::kth, false).wanted = c[ops::kth_rows_op::arg::k]; }
void plan_ranks(Call& c) { plan_order(c, Choice::ranks, false); }
void plan_mode(Call& c) { plan_order(c, Choice::mode, false); }

const Registered ops[] = {
    {"sort_rows", {.plan = plan_sort, .dense = true}}, {"top_rows", {.plan = plan_top, .dense = true}},
    {"kth_rows", {.plan = plan_kth, .dense = true}},   {"ranked_rows", {.plan = plan_ranks, .dense = true}},
    {"mode_rows", {.plan = plan_mode, .dense = true}},
};

// Where values would stand in sorted sequences. PyTorch's comparisons: no number comes before a NaN, wherever it is.
struct Search {
  Code code;
  bool right, narrow;       // narrow: results are int32
  int64_t n, width, count;  // of a sequence; values that search the same one; values
};
template <class T>
__global__ void __launch_bounds__(kThreads) search(const void* sequence, const void* values, void* out, Search p) {
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < p.count; i += int64_t(gridDim.x) * kThreads) {
    const T v = load<T>(p.code, values, i);
    auto before = [&](int64_t at) {
      const T x = load<T>(p.code, sequence, i / p.width * p.n + at);
      return p.right ? !(x > v) : !(x >= v);
    };
    int64_t low = 0;
    for (int64_t left = p.n; left > 1;) {
      const int64_t half = left / 2;
      if (before(low + half - 1)) low += half;
      left -= half;
    }
    if (p.n > 0) low += before(low);
    if (p.narrow)
      static_cast<int32_t*>(out)[i] = int32_t(low);
    else
      static_cast<int64_t*>(out)[i] = low;
  }
}
void run_search(const Search& p, const Pointers& at) {
  if (p.count == 0) return;
  const Grid grid = grid_for(p.count, 1, kThreads);
  if (p.code == Code::f64) return launch(search<double>, grid, at.in[0], at.in[1], at.out[0], p);
  if (p.code == Code::u64) return launch(search<uint64_t>, grid, at.in[0], at.in[1], at.out[0], p);
  if (p.code == Code::f32 || p.code == Code::f16 || p.code == Code::bf16 || p.code >= Code::f8e4m3fn)
    return launch(search<float>, grid, at.in[0], at.in[1], at.out[0], p);
  launch(search<int64_t>, grid, at.in[0], at.in[1], at.out[0], p);
}
void plan_search(Call& c) {
  using namespace ops::search_rows_op;
  const Operand s = c.operand(arg::sorted_sequence), v = c.operand(arg::self);
  const int64_t width = s.ndim == 1 ? v.count : v.lengths[v.ndim - 1];
  c.plan.set<run_search>(
      Search{code_of(s.format), c[arg::right], c[arg::out_int32], s.lengths[s.ndim - 1], width > 0 ? width : 1, v.count});
}
const Registered search_rows{"search_rows", {.plan = plan_search, .dense = true}};

}  // namespace
}  // namespace dyadic::gpu
