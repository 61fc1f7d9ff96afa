// Streams, events and memory of the simulated device: what is enqueued runs later, in the order that streams and events say.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "plugins/cuda/kernel.h"
#include "tests/cuda/simulated.h"

namespace dyadic::gpu {
namespace {

constexpr int kTries = 60;

__global__ void append(int* list, int value) { list[++list[0]] = value; }
__global__ void fill(int* at, int64_t n, int value) {
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < n; i += int64_t(gridDim.x) * blockDim.x) at[i] = value;
}
__global__ void never(int) {
  if (threadIdx.x) __syncthreads();
  if (!threadIdx.x) __shfl_sync(~0u, 0, 1);
}

struct Memory {  // of device 0, for a test's length
  int64_t bytes;
  int* at;
  explicit Memory(int64_t n) : bytes((n + driver::kGrain - 1) / driver::kGrain * driver::kGrain) {
    at = static_cast<int*>(driver::take(0, bytes));
    EXPECT_NE(at, nullptr);
  }
  ~Memory() {
    driver::wait_device(0);
    driver::give(0, at, bytes);
  }
};
std::vector<int> fetch(const int* at, size_t n) {
  std::vector<int> host(n);
  driver::copy(0, host.data(), at, int64_t(n) * 4, driver::Way::to_host, driver::first_stream(0));
  driver::wait_stream(0, driver::first_stream(0));
  return host;
}

TEST(cuda_queue, work_runs_later_in_order) {
  open_devices();
  const Memory m(4096);
  int waited = 0;
  for (int k = 0; k < kTries; ++k) {
    launch(fill, Grid{}, m.at, int64_t{1}, 0);
    for (int v = 1; v <= 5; ++v) launch(append, Grid{.threads = 1}, m.at, v);
    waited += !driver::stream_done(0, driver::first_stream(0));
    ASSERT_EQ(fetch(m.at, 6), (std::vector<int>{5, 1, 2, 3, 4, 5}));
    ASSERT_TRUE(driver::stream_done(0, driver::first_stream(0)));
  }
  EXPECT_GT(waited, 0);
}

TEST(cuda_queue, streams_go_their_own_ways_but_for_events) {
  open_devices();
  const Memory m(4096);
  void *const a = driver::new_stream(0, 0), *const b = driver::new_stream(0, 0), *const e = driver::new_event(0, false);
  int swapped = 0;
  for (int k = 0; k < kTries; ++k)
    for (const bool ordered : {true, false}) {
      launch(fill, Grid{}, m.at, int64_t{1}, 0);
      driver::wait_device(0);
      choose_stream(0, a);
      launch(append, Grid{.threads = 1}, m.at, 1);
      driver::record_event(0, e, a);
      if (ordered) driver::wait_event(0, b, e);
      choose_stream(0, b);
      launch(append, Grid{.threads = 1}, m.at, 2);
      choose_stream(0, nullptr);
      driver::wait_stream(0, b);
      driver::wait_stream(0, a);
      ASSERT_TRUE(driver::event_done(e));
      const bool first = fetch(m.at, 2)[1] == 1;
      ASSERT_TRUE(first || !ordered);
      swapped += !first;
    }
  EXPECT_GT(swapped, 0);
  driver::delete_event(e);
  driver::delete_stream(0, a);
  driver::delete_stream(0, b);
}

TEST(cuda_queue, a_host_that_waits_for_an_event_waits_for_no_more) {
  open_devices();
  const Memory m(4096);
  void *const from = driver::new_event(0, true), *const to = driver::new_event(0, true);
  EXPECT_TRUE(driver::event_done(from));  // not recorded yet
  int left = 0;
  for (int k = 0; k < kTries; ++k) {
    driver::record_event(0, from, driver::first_stream(0));
    launch(fill, Grid{}, m.at, int64_t{1000}, k);
    driver::record_event(0, to, driver::first_stream(0));
    launch(fill, Grid{}, m.at, int64_t{1000}, -1);
    driver::synchronize_event(to);
    EXPECT_TRUE(driver::event_done(to));
    EXPECT_GT(driver::milliseconds(from, to), 0);
    left += !driver::stream_done(0, driver::first_stream(0));
  }
  EXPECT_GT(left, 0);
  driver::wait_device(0);
  driver::delete_event(from);
  driver::delete_event(to);
}

TEST(cuda_queue, copies) {
  open_devices();
  const Memory m(4096);
  for (int k = 0; k < kTries; ++k) {
    std::vector<int> source(500);
    std::iota(source.begin(), source.end(), k);
    const std::vector<int> expected = source;
    driver::copy(0, m.at, source.data(), 2000, driver::Way::to_device, driver::first_stream(0));
    std::fill(source.begin(), source.end(), -1);  // has been read
    driver::copy(0, m.at + 500, m.at, 2000, driver::Way::within, driver::first_stream(0));
    ASSERT_EQ(fetch(m.at + 500, 500), expected);
  }
}

TEST(cuda_queue, two_devices) {
  open_devices();
  ASSERT_EQ(driver::count(), 2);
  const Memory m(4096);
  enter_device(1);
  auto* const there = static_cast<int*>(driver::take(1, driver::kGrain));
  launch(fill, Grid{}, there, int64_t{100}, 7);
  driver::wait_device(1);
  driver::copy_between(0, m.at, 1, there, 400, driver::first_stream(0));
  EXPECT_EQ(fetch(m.at, 100), std::vector<int>(100, 7));
  driver::give(1, there, driver::kGrain);
  enter_device(0);
}

// The kernel says so without a fault: what write() cannot read, nobody can.
bool host_reads(const void* p) {
  int ends[2];
  if (pipe(ends)) return false;
  const bool reads = write(ends[1], p, 1) == 1;
  EXPECT_TRUE(reads || errno == EFAULT);
  close(ends[0]);
  close(ends[1]);
  return reads;
}
TEST(cuda_queue, device_memory_is_not_the_hosts) {
  open_devices();
  int64_t free = 0, total = 0;
  driver::free_and_total(0, &free, &total);
  EXPECT_EQ(total, 1 << 30);
  {
    const Memory m(100), other(100);
    EXPECT_FALSE(host_reads(m.at));
    launch(fill, Grid{}, m.at, int64_t{100}, 7);
    EXPECT_EQ(fetch(m.at, 100), std::vector<int>(100, 7));
    EXPECT_FALSE(host_reads(m.at));
    EXPECT_TRUE(std::isnan(std::bit_cast<float>(fetch(other.at, 1)[0])));
    int64_t now = 0;
    driver::free_and_total(0, &now, &total);
    EXPECT_EQ(now, free - 2 * driver::kGrain);
  }
  EXPECT_EQ(driver::take(0, total + driver::kGrain), nullptr);
}

TEST(cuda_queue, what_goes_wrong_is_raised_where_the_host_waits) {
  open_devices();
  enter_call("softmax");
  launch(never, Grid{.blocks = 3, .threads = 64}, 0);
  enter_call("add");
  try {
    driver::wait_stream(0, driver::first_stream(0));
    FAIL();
  } catch (const Error& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with(
        "softmax: kernel dyadic::gpu::(anonymous namespace)::never failed: 3 blocks of 64 threads: 1 threads of block "))
        << e.what();
  }
  driver::wait_stream(0, driver::first_stream(0));  // once
}

TEST(cuda_queue, calls_are_known_by_number_for_a_while) {
  open_devices();
  enter_call("embedding");
  const int number = op_number();
  EXPECT_EQ(name_of_call(number), "embedding");
  for (int i = 0; i < 1 << 14; ++i) enter_call("add");
  EXPECT_EQ(name_of_call(number), "cuda");
  EXPECT_EQ(name_of_call(op_number()), "add");
}

TEST(cuda_queue, grids_cover_and_are_cut) {
  open_devices();
  EXPECT_EQ(grid_for(0).blocks, 0);
  EXPECT_EQ(grid_for(1).blocks, 1);
  EXPECT_EQ(grid_for(257).blocks, 2);
  EXPECT_EQ(grid_for(257, 4).blocks, 1);
  EXPECT_EQ(grid_for(int64_t{1} << 40).blocks, 4 * 8 * 2);
}

}  // namespace
}  // namespace dyadic::gpu
