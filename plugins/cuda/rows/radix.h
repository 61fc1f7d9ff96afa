// Stable sorts of keys with their numbers, row by row: eight bits a pass, from the lowest on. A block ranks a tile; where each
// digit of each tile begins is the same whatever the blocks' order, so that the result is too.
#pragma once
#include "plugins/cuda/language.h"
#include "plugins/cuda/rows/collectives.h"

namespace dyadic::gpu {

constexpr int kRadixThreads = 256, kRadixRounds = 16, kRadixTile = kRadixThreads * kRadixRounds, kDigits = 256;

// A row's tile: its first element, and one behind its last, in a block's terms.
struct RadixTile {
  int64_t row, begin, end;
  __device__ RadixTile(int64_t n, int64_t tiles) : row(int64_t(blockIdx.x) / tiles) {
    const int64_t first = int64_t(blockIdx.x) % tiles * kRadixTile, stop = first + kRadixTile < n ? first + kRadixTile : n;
    begin = row * n + first, end = row * n + stop;
  }
};

// counts [row, digit, tile].
template <class K>
__global__ void __launch_bounds__(kRadixThreads)
    radix_count(const K* keys, int64_t n, int64_t tiles, int shift, uint32_t* counts) {
  __shared__ uint32_t count[kDigits];
  const RadixTile tile(n, tiles);
  count[threadIdx.x] = 0;
  __syncthreads();
  for (int64_t i = tile.begin + threadIdx.x; i < tile.end; i += kRadixThreads) atomicAdd(&count[keys[i] >> shift & 255], 1u);
  __syncthreads();
  counts[(tile.row * kDigits + threadIdx.x) * tiles + int64_t(blockIdx.x) % tiles] = count[threadIdx.x];
}

// The sum of what the block's threads before this one have; `total`: of all. kThreads is a multiple of a warp.
template <int kThreads> __device__ __forceinline__ uint32_t sum_before(uint32_t mine, uint32_t* shared, uint32_t& total) {
  constexpr int kWarps = kThreads / kWarp;
  const int lane = int(threadIdx.x) % kWarp, warp = int(threadIdx.x) / kWarp;
  uint32_t sum = mine;
  DY_UNROLL
  for (int by = 1; by < kWarp; by *= 2) {
    const uint32_t other = __shfl_up_sync(kWholeWarp, sum, unsigned(by));
    if (lane >= by) sum += other;
  }
  __syncthreads();
  if (lane == kWarp - 1) shared[warp] = sum;
  __syncthreads();
  uint32_t before = 0;
  total = 0;
  DY_UNROLL
  for (int w = 0; w < kWarps; ++w) {
    if (w == warp) before = total;
    total += shared[w];
  }
  return before + sum - mine;
}

// Each digit's counts become the sums of those before; its total goes into totals [row, digit].
__global__ void __launch_bounds__(kRadixThreads) static radix_scan(uint32_t* counts, int64_t tiles, uint32_t* totals) {
  __shared__ uint32_t shared[kRadixThreads / kWarp];
  uint32_t* const own = counts + int64_t(blockIdx.x) * tiles;
  uint32_t sum = 0, total;
  for (int64_t first = 0; first < tiles; first += kRadixThreads) {
    const int64_t i = first + threadIdx.x;
    const uint32_t before = sum_before<kRadixThreads>(i < tiles ? own[i] : 0, shared, total);
    if (i < tiles) own[i] = sum + before;
    sum += total;
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = sum;
}

template <class K>
__global__ void __launch_bounds__(kRadixThreads)
    radix_move(const K* keys, const uint32_t* numbers, K* keys_out, uint32_t* numbers_out, int64_t n, int64_t tiles, int shift,
               const uint32_t* counts, const uint32_t* totals) {
  constexpr int kWarps = kRadixThreads / kWarp;
  __shared__ uint32_t next[kWarps][kDigits], shared[kWarps];  // where a warp's next element with this digit goes
  const RadixTile tile(n, tiles);
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp;
  for (int w = 0; w < kWarps; ++w) next[w][threadIdx.x] = 0;
  __syncthreads();
  const int64_t first = tile.begin + int64_t(warp) * kRadixRounds * kWarp + lane;
  for (int k = 0; k < kRadixRounds; ++k) {
    const int64_t i = first + k * kWarp;
    if (i < tile.end) atomicAdd(&next[warp][keys[i] >> shift & 255], 1u);
  }
  __syncthreads();
  uint32_t all;
  const uint32_t digit_begin = sum_before<kRadixThreads>(totals[tile.row * kDigits + threadIdx.x], shared, all);
  uint32_t sum = digit_begin + counts[(tile.row * kDigits + threadIdx.x) * tiles + int64_t(blockIdx.x) % tiles];
  for (int w = 0; w < kWarps; ++w) {
    const uint32_t own = next[w][threadIdx.x];
    next[w][threadIdx.x] = sum;
    sum += own;
  }
  __syncthreads();
  for (int k = 0; k < kRadixRounds; ++k) {
    const int64_t i = first + k * kWarp;
    const bool is_one = i < tile.end;
    const K key = is_one ? keys[i] : K(0);
    const unsigned digit = is_one ? unsigned(key >> shift & 255) : kDigits;
    const unsigned same = __match_any_sync(kWholeWarp, digit), before = same & ((1u << lane) - 1);
    uint32_t at = 0;
    if (is_one) at = next[warp][digit] + uint32_t(__popc(before));
    __syncwarp();
    if (is_one && before == 0) next[warp][digit] += uint32_t(__popc(same));
    __syncwarp();
    if (!is_one) continue;
    keys_out[tile.row * n + at] = key;
    numbers_out[tile.row * n + at] = numbers[i];
  }
}

inline int64_t radix_tiles(int64_t n) { return (n + kRadixTile - 1) / kRadixTile; }
inline int64_t radix_room(int64_t rows, int64_t n) { return rows * kDigits * (radix_tiles(n) + 1) * 4; }  // bytes of `memory`

// Sorts rows of n keys, the lowest `bits` of them, with their numbers; what is sorted lies in keys and numbers at the end, and
// others are overwritten.
template <class K>
void radix_sort(K*& keys, uint32_t*& numbers, K* other_keys, uint32_t* other_numbers, int64_t rows, int64_t n, int bits,
                void* memory) {
  const int64_t tiles = radix_tiles(n);
  auto* counts = static_cast<uint32_t*>(memory);
  uint32_t* totals = counts + rows * kDigits * tiles;
  const Grid grid{.blocks = rows * tiles, .threads = kRadixThreads};
  for (int shift = 0; shift < bits; shift += 8) {
    launch(radix_count<K>, grid, keys, n, tiles, shift, counts);
    launch(radix_scan, {.blocks = rows * kDigits, .threads = kRadixThreads}, counts, tiles, totals);
    launch(radix_move<K>, grid, keys, numbers, other_keys, other_numbers, n, tiles, shift, counts, totals);
    K* const k = keys;
    keys = other_keys, other_keys = k;
    uint32_t* const m = numbers;
    numbers = other_numbers, other_numbers = m;
  }
}

// The first place in a sorted row whose key is not below.
template <class K> __device__ __forceinline__ int64_t first_not_below(const K* keys, int64_t n, K key) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (keys[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace dyadic::gpu
