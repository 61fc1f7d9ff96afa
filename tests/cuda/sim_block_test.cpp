// Threads, blocks and collectives of the simulator.
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

#include "tests/cuda/simulated.h"

namespace dyadic::gpu {
namespace {

constexpr int kSeeds = 20;

__global__ void reverse(const int* in, int* out) {
  __shared__ int held[256];
  const int i = int(threadIdx.x), first = int(blockIdx.x * blockDim.x), n = int(blockDim.x);
  held[i] = in[first + i];
  __syncthreads();
  out[first + i] = held[n - 1 - i];
}
__global__ void reverse_without_barrier(const int* in, int* out) {
  __shared__ int held[256];
  const int i = int(threadIdx.x);
  held[i] = in[i];
  out[i] = held[blockDim.x - 1 - i];
}

TEST(cuda_block, barrier) {
  std::vector<int> in(3 * 200), out(in.size());
  std::iota(in.begin(), in.end(), 1);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::fill(out.begin(), out.end(), 0);
    ASSERT_EQ(run_now(seed, reverse, {.blocks = 3, .threads = 200}, in.data(), out.data()), "");
    for (int b = 0; b < 3; ++b)
      for (int i = 0; i < 200; ++i) ASSERT_EQ(out[size_t(b * 200 + i)], in[size_t(b * 200 + 199 - i)]);
  }
}
TEST(cuda_block, a_missing_barrier_shows) {
  std::vector<int> in(256), out(256);
  std::iota(in.begin(), in.end(), 1);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (int& x : in) x += 1000;
    ASSERT_EQ(run_now(seed, reverse_without_barrier, {.threads = 256}, in.data(), out.data()), "");
    EXPECT_FALSE(std::equal(in.rbegin(), in.rend(), out.begin())) << seed;
  }
}

// Many barriers, votes among all threads, threads that leave early.
__global__ void vote(int* out) {
  const int i = int(threadIdx.x);
  if (i >= 90) return;
  int score = 0;
  for (int round = 0; round < 90; ++round) {
    score += __syncthreads_or(i == round) != 0;
    score += __syncthreads_and(i != round) == 0;
    score += __syncthreads_count(i <= round) == round + 1;
  }
  out[i] = score;
}
TEST(cuda_block, votes_of_a_block) {
  std::vector<int> out(100);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ASSERT_EQ(run_now(seed, vote, {.threads = 100}, out.data()), "");
    for (int i = 0; i < 100; ++i) ASSERT_EQ(out[size_t(i)], i < 90 ? 270 : 0);
    std::fill(out.begin(), out.end(), 0);
  }
}

__global__ void shuffles(int64_t* out) {
  const int i = int(threadIdx.x), lane = i % 32;
  int64_t* const mine = out + i * 12;
  const long long value = (1ll << 40) + i;
  mine[0] = __shfl_sync(~0u, value, 5) - (1ll << 40);
  mine[1] = int64_t(__shfl_xor_sync(~0u, float(i), 3));
  mine[2] = __shfl_up_sync(~0u, i, 2);
  mine[3] = __shfl_down_sync(~0u, i, 2);
  mine[4] = int64_t(__shfl_sync(~0u, double(i), 1, 8));
  mine[5] = __shfl_up_sync(~0u, unsigned(i), 1, 4);
  mine[6] = __shfl_down_sync(~0u, i, 1, 4);
  mine[7] = __shfl_xor_sync(~0u, i, 4, 4);
  mine[8] = __ballot_sync(~0u, lane % 3 == 0);
  mine[9] = __any_sync(~0u, lane == 7) * 2 + __any_sync(~0u, lane == 32);
  mine[10] = __all_sync(~0u, lane < 32) * 2 + __all_sync(~0u, lane < 31);
  mine[11] = __match_any_sync(~0u, lane / 5);
}
TEST(cuda_block, shuffles_and_votes_of_a_warp) {
  std::vector<int64_t> out(64 * 12);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ASSERT_EQ(run_now(seed, shuffles, {.threads = 64}, out.data()), "");
    for (int i = 0; i < 64; ++i) {
      const int64_t* got = &out[size_t(i * 12)];
      const int lane = i % 32, first = i - lane;
      int64_t thirds = 0, fives = 0;
      for (int j = 0; j < 32; ++j) thirds |= int64_t(j % 3 == 0) << j, fives |= int64_t(j / 5 == lane / 5) << j;
      const int64_t expected[] = {first + 5,
                                  i ^ 3,
                                  lane < 2 ? i : i - 2,
                                  lane > 29 ? i : i + 2,
                                  i - i % 8 + 1,
                                  i % 4 ? i - 1 : i,
                                  i % 4 == 3 ? i : i + 1,
                                  lane / 4 % 2 ? i - 4 : i,
                                  thirds,
                                  2,
                                  2,
                                  fives};
      for (int k = 0; k < 12; ++k) ASSERT_EQ(got[k], expected[k]) << "thread " << i << ", " << k;
    }
  }
}

// Groups of lanes that go their own ways, some of which leave.
__global__ void groups(int* out) {
  const int i = int(threadIdx.x);
  if (i % 4 == 3) return;
  const unsigned mask = 0x11111111u << i % 4;
  int sum = 0;
  for (int round = 0; round <= i % 4; ++round) {
    sum = i;
    for (int by = 4; by < 32; by *= 2) sum += __shfl_xor_sync(mask, sum, by);
    __syncwarp(mask);
  }
  out[i] = sum;
}
TEST(cuda_block, groups_of_lanes) {
  std::vector<int> out(32);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ASSERT_EQ(run_now(seed, groups, {.threads = 32}, out.data()), "");
    for (int i = 0; i < 32; ++i) ASSERT_EQ(out[size_t(i)], i % 4 == 3 ? 0 : 8 * (i % 4) + 4 * 28);
  }
}

__global__ void exchange_twice(int* out) {
  const int i = int(threadIdx.x);
  struct Pair {
    int a, b;
  };
  const Pair* first = sim::exchange(Pair{i, -i});
  const Pair* second = sim::exchange(Pair{2 * i, -i});
  out[i] = first[31 - i].a + second[i ^ 1].a + second[i].b;
}
TEST(cuda_block, exchange) {
  std::vector<int> out(32);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ASSERT_EQ(run_now(seed, exchange_twice, {.threads = 32}, out.data()), "");
    for (int i = 0; i < 32; ++i) ASSERT_EQ(out[size_t(i)], 31 - i + 2 * (i ^ 1) - i);
  }
}

__global__ void places(int* count, int* order, int* next) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  atomicAdd(&count[block * blockDim.x + threadIdx.x], 1);
  if (threadIdx.x == 0) order[block] = atomicAdd(next, 1);
}
TEST(cuda_block, every_block_once_in_several_orders) {
  std::set<std::vector<int>> orders;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::vector<int> count(7 * 2 * 3 * 33), order(7 * 2 * 3);
    int next = 0;
    ASSERT_EQ(run_now(seed, places, {.blocks = 7, .threads = 33, .y = 2, .z = 3}, count.data(), order.data(), &next), "");
    for (int n : count) ASSERT_EQ(n, 1);
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 3u);
}

__global__ void read_dynamic(uint32_t* out) {
  DY_DYNAMIC_SHARED(uint32_t, held);
  out[threadIdx.x] = held[threadIdx.x];
  __syncthreads();
  held[threadIdx.x] = 0;
}
template <class T> __global__ void read_static(T* out) {
  __shared__ T held[63];
  __shared__ char last;
  out[threadIdx.x] = threadIdx.x < 63 ? held[threadIdx.x] : T(last);
  __syncthreads();
  if (threadIdx.x < 63) held[threadIdx.x] = T(last = 0);
}
TEST(cuda_block, shared_memory_begins_as_anything) {
  std::vector<uint32_t> out(64);
  ASSERT_EQ(run_now(1, read_dynamic, {.blocks = 2, .threads = 64, .shared = 256}, out.data()), "");
  EXPECT_EQ(std::count(out.begin(), out.end(), 0u), 0);
  std::fill(out.begin(), out.end(), 0);
  ASSERT_EQ(run_now(1, read_static<uint32_t>, {.blocks = 2, .threads = 64}, out.data()), "");
  EXPECT_EQ(std::count(out.begin(), out.end(), 0u), 0);
  std::vector<double> numbers(64);
  ASSERT_EQ(run_now(1, read_static<double>, {.blocks = 2, .threads = 64}, numbers.data()), "");
  EXPECT_TRUE(std::isnan(numbers[5]));
}

__global__ void barrier_of_some(int) {
  if (threadIdx.x != 3) __syncthreads();
  if (threadIdx.x == 3) __shfl_sync(~0u, 1, 0);
}
__global__ void barrier_in_two_ways(int) {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads_or(1);
}
__global__ void lonely_shuffle(int) {
  if (threadIdx.x % 2) __shfl_sync(~0u, 1, 0);
  __syncthreads();
}
__global__ void wrong_mask(int) { __shfl_sync(0xffu, 1, 0); }
__global__ void two_kinds(int) {
  if (threadIdx.x == 0)
    __syncwarp();
  else
    __ballot_sync(~0u, 1);
}
TEST(cuda_block, who_waits_in_vain_is_named) {
  const Grid g{.threads = 64};
  EXPECT_EQ(run_now(1, barrier_of_some, g, 0),
            "1 threads of block 0,0,0 wait in a shuffle, vote or __syncwarp for lanes that never come, 63 at __syncthreads");
  EXPECT_EQ(run_now(1, barrier_in_two_ways, g, 0), "threads of one block wait at different kinds of __syncthreads");
  EXPECT_EQ(run_now(1, lonely_shuffle, g, 0),
            "32 threads of block 0,0,0 wait in a shuffle, vote or __syncwarp for lanes that never come, 32 at __syncthreads");
  EXPECT_EQ(run_now(1, wrong_mask, g, 0), "a lane calls a collective whose mask lacks it");
  EXPECT_EQ(run_now(1, two_kinds, {.threads = 2}, 0),
            "2 threads of block 0,0,0 wait in a shuffle, vote or __syncwarp for lanes that never come");
  EXPECT_EQ(run_now(1, wrong_mask, {.threads = 1025}, 0), "1025 threads in a block; 1 to 1024 is what a device has");
  EXPECT_EQ(run_now(1, wrong_mask, {.shared = 1 << 20}, 0), "1048576 bytes of shared memory; a block has at most 232448");
  std::vector<int> out(100);  // and the next launch is as any
  EXPECT_EQ(run_now(1, vote, {.threads = 100}, out.data()), "");
  EXPECT_EQ(out[89], 270);
}

TEST(cuda_block, intrinsics) {
  EXPECT_EQ(__brev(1u), 0x80000000u);
  EXPECT_EQ(__clz(0), 32);
  EXPECT_EQ(__clzll(1), 63);
  EXPECT_EQ(__ffs(0), 0);
  EXPECT_EQ(__ffs(8), 4);
  EXPECT_EQ(__byte_perm(0x33221100u, 0x77665544u, 0x7520u), 0x77552200u);
  EXPECT_EQ(__funnelshift_l(0x80000000u, 1u, 1), 3u);
  EXPECT_EQ(__funnelshift_r(2u, 1u, 1), 0x80000001u);
  EXPECT_EQ(__umulhi(~0u, ~0u), ~0u - 1);
  EXPECT_EQ(__mulhi(-1, 1), -1);
  EXPECT_EQ(__umul64hi(~0ull, ~0ull), ~0ull - 1);
  EXPECT_EQ(__mul64hi(-1ll, 1), -1ll);
  EXPECT_EQ(__dp4a(0x01ff0203, 0x01010101, 10), 10 + 1 - 1 + 2 + 3);
  EXPECT_EQ(__float2int_rn(2.5f), 2);
  EXPECT_EQ(__float2int_rz(-2.9f), -2);
  EXPECT_EQ(__float2int_rz(1e20f), INT32_MAX);
  EXPECT_EQ(__float2int_rz(-INFINITY), INT32_MIN);
  EXPECT_EQ(__float2int_rn(NAN), 0);
  EXPECT_EQ(__float2uint_rz(-1.f), 0u);
  EXPECT_EQ(__double2ll_rn(1e300), INT64_MAX);
  EXPECT_EQ(__float2ll_rz(NAN), INT64_MIN);
  int word = 5;
  EXPECT_EQ(atomicMax(&word, 7), 5);
  EXPECT_EQ(atomicCAS(&word, 7, 9), 7);
  EXPECT_EQ(atomicCAS(&word, 7, 1), 9);
  EXPECT_EQ(atomicExch(&word, 2), 9);
  EXPECT_EQ(word, 2);
  EXPECT_EQ(__fmaf_rn(1 + 0x1p-12f, 1 + 0x1p-12f, -1), 0x1p-11f + 0x1p-24f);
}

}  // namespace
}  // namespace dyadic::gpu
