// Ops that take elements by a mask, and count: each element's rank among those that are taken comes from sums over blocks.
#include "plugins/cuda/copies/places.h"

namespace dyadic::gpu {
namespace {

constexpr int kThreads = 256, kRun = 8, kTile = kThreads * kRun;

struct Mask {
  Code code;
  int64_t count;
  int64_t tiles() const { return (count + kTile - 1) / kTile; }
  Grid grid() const { return {tiles() < (1 << 16) ? tiles() : 1 << 16, kThreads}; }
};
__device__ __forceinline__ uint32_t read_run(const Mask& m, const void* mask, int64_t begin) {  // a bit for each
  uint32_t bits = 0;
  for (int k = 0; k < kRun; ++k)
    if (begin + k < m.count && load<bool>(m.code, mask, begin + k)) bits |= 1u << k;
  return bits;
}
__global__ void __launch_bounds__(kThreads) count_taken(Mask m, const void* mask, uint32_t* counts) {
  __shared__ uint32_t shared[kThreads / kWarp];
  for (int64_t tile = blockIdx.x; tile * kTile < m.count; tile += gridDim.x) {
    uint32_t all;
    sum_before<kThreads>(uint32_t(__popc(read_run(m, mask, tile * kTile + int64_t(threadIdx.x) * kRun))), shared, all);
    if (threadIdx.x == 0) counts[tile] = all;
  }
}
// f(element, its rank) of what is taken.
template <class F> __device__ __forceinline__ void each_taken(const Mask& m, const void* mask, const uint32_t* before, F f) {
  __shared__ uint32_t shared[kThreads / kWarp];
  for (int64_t tile = blockIdx.x; tile * kTile < m.count; tile += gridDim.x) {
    const int64_t begin = tile * kTile + int64_t(threadIdx.x) * kRun;
    const uint32_t bits = read_run(m, mask, begin);
    uint32_t all;
    int64_t rank = int64_t(before[tile]) + sum_before<kThreads>(uint32_t(__popc(bits)), shared, all);
    for (int k = 0; k < kRun; ++k)
      if (bits >> k & 1) f(begin + k, rank++);
  }
}
void count_before(const Mask& m, const void* mask, void* workspace) {
  auto* counts = static_cast<uint32_t*>(workspace);
  launch(count_taken, m.grid(), m, mask, counts);
  sum_all_before(counts, m.tiles());
}
Mask mask_of(Call& c, const Operand& o) {
  const Mask m{code_of(o.format), o.count};
  c.plan.workspace = (m.tiles() + 1) * 4;
  return m;
}

struct Taking {
  Mask mask;
  Transfer copy;  // decompress: the result begins as self
  int64_t size;   // elements there are for those that are taken
  int width;
};
template <class W>
__global__ void __launch_bounds__(kThreads)
    take_elements(Mask m, const void* mask, const uint32_t* before, int64_t size, const W* all, W* some) {
  each_taken(m, mask, before, [=](int64_t i, int64_t rank) {
    if (rank < size) some[rank] = all[i];
  });
}
template <class W>
__global__ void __launch_bounds__(kThreads) put_elements(Mask m, const void* mask, const uint32_t* before, int64_t size,
                                                         const W* some, W* all, Failure* failed, int op) {
  each_taken(m, mask, before, [=](int64_t i, int64_t rank) {
    if (rank < size)
      all[i] = some[rank];
    else
      fail_index(failed, op, rank, size);
  });
}
void run_compress(const Taking& p, const Pointers& at) {
  if (p.mask.count == 0) return;
  const void* mask = at.in[ops::compress_op::arg::mask.tensor];
  count_before(p.mask, mask, at.workspace);
  with_word(p.width, [&](auto word) {
    using W = decltype(word);
    launch(take_elements<W>, p.mask.grid(), p.mask, mask, static_cast<const uint32_t*>(at.workspace), p.size,
           static_cast<const W*>(at.in[0]), static_cast<W*>(at.out[0]));
  });
}
void plan_compress(Call& c) {
  namespace arg = ops::compress_op::arg;
  c.plan.set<run_compress>(Taking{mask_of(c, c.operand(arg::mask)), {}, c[arg::size], int(c.operand(arg::self).itemsize())});
}
void run_decompress(const Taking& p, const Pointers& at) {
  namespace arg = ops::decompress_op::arg;
  if (p.mask.count == 0) return;
  const void* mask = at.in[arg::mask.tensor];
  if (at.in[0] != at.out[0]) p.copy.run(at.out[0], at.in[0]);
  count_before(p.mask, mask, at.workspace);
  with_word(p.width, [&](auto word) {
    using W = decltype(word);
    launch(put_elements<W>, p.mask.grid(), p.mask, mask, static_cast<const uint32_t*>(at.workspace), p.size,
           static_cast<const W*>(at.in[arg::source.tensor]), static_cast<W*>(at.out[0]), failures(), op_number());
  });
}
void plan_decompress(Call& c) {
  namespace arg = ops::decompress_op::arg;
  const Operand out = c.result();
  c.plan.set<run_decompress>(Taking{mask_of(c, c.operand(arg::mask)), plan_transfer(out, c.operand(arg::self)),
                                    c.operand(arg::source).count, int(out.itemsize())});
}

struct Nonzero {
  Mask mask;
  Filling rest;
  int64_t size;
  int ndim;
  int64_t lengths[kMaxDims];
};
__global__ void __launch_bounds__(kThreads) write_places(Nonzero p, const void* mask, const uint32_t* before, int64_t* out) {
  each_taken(p.mask, mask, before, [=](int64_t i, int64_t rank) {
    if (rank >= p.size) return;
    for (int d = p.ndim - 1; d >= 0; --d) {
      const int64_t next = i / p.lengths[d];
      out[rank * p.ndim + d] = i - next * p.lengths[d];
      i = next;
    }
  });
}
void run_nonzero(const Nonzero& p, const Pointers& at) {
  p.rest.run(at.out[0]);
  if (p.mask.count == 0 || p.ndim == 0) return;
  count_before(p.mask, at.in[0], at.workspace);
  launch(write_places, p.mask.grid(), p, at.in[0], static_cast<const uint32_t*>(at.workspace),
         static_cast<int64_t*>(at.out[0]));
}
void plan_nonzero(Call& c) {
  namespace arg = ops::nonzero_static_op::arg;
  const Operand self = c.operand(arg::self);
  const int64_t fill = c[arg::fill_value];
  Nonzero& p = c.plan.make<run_nonzero, Nonzero>();
  p.mask = mask_of(c, self), p.rest = plan_filling(c.result(), &fill), p.size = c[arg::size], p.ndim = self.ndim;
  for (int d = 0; d < self.ndim; ++d) p.lengths[d] = self.lengths[d];
}

// Counts of numbers: integer sums, in whatever order. Few of them are kept by each block first.
constexpr int kShared = 4096;
struct Counting {
  Code code;
  int64_t count, size;
  int64_t low;                // of values
  double first, last, width;  // of bins
  bool bins;
};
__global__ void __launch_bounds__(kThreads)
    count_numbers(Counting p, const void* x, unsigned long long* out, Failure* failed, int op) {
  __shared__ unsigned here[kShared];
  const bool shares = p.size <= kShared;
  for (int k = int(threadIdx.x); shares && k < p.size; k += kThreads) here[k] = 0;
  __syncthreads();
  for (int64_t i = first_thread(); i < p.count; i += all_threads()) {
    int64_t place;
    if (p.bins) {
      const double v = load<double>(p.code, x, i);
      if (!(v >= p.first && v <= p.last)) continue;
      place = int64_t((v - p.first) / p.width * double(p.size));
      if (place > p.size - 1) place = p.size - 1;
    } else {
      const auto v = load<int64_t>(p.code, x, i);
      place = int64_t(uint64_t(v) - uint64_t(p.low));
      if (uint64_t(place) >= uint64_t(p.size)) {
        fail_index(failed, op, v, p.low + p.size);
        continue;
      }
    }
    if (shares)
      atomicAdd(here + place, 1u);
    else
      atomicAdd(out + place, 1ull);
  }
  __syncthreads();
  for (int k = int(threadIdx.x); shares && k < p.size; k += kThreads)
    if (here[k]) atomicAdd(out + k, static_cast<unsigned long long>(here[k]));
}
struct Counts {
  Filling zeros;
  Counting counting;
};
void run_counts(const Counts& p, const Pointers& at) {
  p.zeros.run(at.out[0]);
  if (p.counting.count == 0 || p.counting.size == 0) return;
  launch(count_numbers, grid_for(p.counting.count, 16, kThreads), p.counting, at.in[0],
         static_cast<unsigned long long*>(at.out[0]), failures(), op_number());
}
void plan_counts(Call& c, const Counting& counting) {
  const int64_t zero = 0;
  c.plan.set<run_counts>(Counts{plan_filling(c.result(), &zero), counting});
}
void plan_count_values(Call& c) {
  namespace arg = ops::count_values_op::arg;
  const Operand x = c.operand(arg::self);
  plan_counts(c, {code_of(x.format), x.count, c[arg::size], c[arg::low], 0, 0, 0, false});
}
void plan_count_bins(Call& c) {
  namespace arg = ops::count_bins_op::arg;
  const Operand x = c.operand(arg::self);
  const double low = c[arg::low], high = c[arg::high];
  plan_counts(c, {code_of(x.format), x.count, c[arg::bins], 0, low, high, high - low, true});
}

// The negative of each row's element that a target names, 0 where it is ignored; and how many are not.
struct Picking {
  Filling zero;
  Code code;
  int64_t count, classes, inner, ignored;
};
template <class T>
__global__ void __launch_bounds__(kThreads) pick_negative(Picking p, const void* x, const int64_t* target, void* out,
                                                          unsigned long long* known, Failure* failed, int op) {
  __shared__ unsigned here;
  if (threadIdx.x == 0) here = 0;
  __syncthreads();
  for (int64_t i = first_thread(); i < p.count; i += all_threads()) {
    const int64_t t = target[i];
    T value = T(0);
    if (t != p.ignored) {
      atomicAdd(&here, 1u);
      if (t < 0 || t >= p.classes)
        fail_index(failed, op, t, p.classes);
      else
        value = -load<T>(p.code, x, (i / p.inner * p.classes + t) * p.inner + i % p.inner);
    }
    store(p.code, out, i, value);
  }
  __syncthreads();
  if (threadIdx.x == 0 && here) atomicAdd(known, static_cast<unsigned long long>(here));
}
void run_picking(const Picking& p, const Pointers& at) {
  p.zero.run(at.out[1]);
  if (p.count == 0) return;
  const auto run = [&](auto kernel) {
    launch(kernel, grid_for(p.count, 4, kThreads), p, at.in[0], static_cast<const int64_t*>(at.in[1]), at.out[0],
           static_cast<unsigned long long*>(at.out[1]), failures(), op_number());
  };
  p.code == Code::f64 ? run(pick_negative<double>) : run(pick_negative<float>);
}
void plan_picking(Call& c) {
  namespace arg = ops::negative_picks_op::arg;
  const Operand x = c.operand(arg::self), t = c.operand(arg::index);
  const int64_t zero = 0;
  c.plan.set<run_picking>(Picking{plan_filling(c.result(1), &zero), code_of(x.format), t.count, x.lengths[1],
                                  t.ndim > 1 && t.count ? t.count / t.lengths[0] : 1, c[arg::ignore_index]});
}

const Registered compress{"compress", {.plan = plan_compress, .dense = true}};
const Registered decompress{"decompress", {.plan = plan_decompress, .dense = true}};
const Registered nonzero{"nonzero_static", {.plan = plan_nonzero, .dense = true}};
const Registered count_values{"count_values", {.plan = plan_count_values, .dense = true}};
const Registered count_bins{"count_bins", {.plan = plan_count_bins, .dense = true}};
const Registered negative_picks{"negative_picks", {.plan = plan_picking, .dense = true}};

}  // namespace
}  // namespace dyadic::gpu
