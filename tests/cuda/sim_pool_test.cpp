// The pool over the simulated device: reuse by stream, other streams, exhaustion, and how much it takes for a model's steps.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>
#include <vector>

#include "plugins/cuda/runtime/pool.h"
#include "tests/cuda/simulated.h"

namespace dyadic::gpu {
namespace {

constexpr int64_t kMiB = 1 << 20;

__global__ void set_first(int* at, int value) { *at = value; }

struct Streams {
  void* const a = driver::first_stream(0);
  void* const b = driver::new_stream(0, 0);
  ~Streams() {
    driver::wait_device(0);
    driver::delete_stream(0, b);
  }
};
// Work that a stream has not done: it may run at any moment, but not always at once.
void keep_busy(void* stream, int* at) {
  choose_stream(0, stream);
  do launch(set_first, Grid{.threads = 1}, at, 1);
  while (driver::stream_done(0, stream));
  choose_stream(0, nullptr);
}

TEST(cuda_pool, aligned_and_reused_by_their_stream) {
  open_devices();
  Pool pool(0);
  void* const s = driver::first_stream(0);
  for (int64_t bytes : {0, 1, 256, 257, 2048, 2049, 5000, 32768, 32769, 100000, 3 << 20}) {
    void* const p = pool.allocate(bytes, s);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(p) % 256, 0u);
    pool.release(p);
    ASSERT_EQ(pool.allocate(bytes, s), p) << bytes;
    pool.release(p);
  }
  EXPECT_GT(pool.reserved(), 3 * kMiB);
  pool.trim();
  EXPECT_EQ(pool.reserved(), 0);
}

TEST(cuda_pool, neighbours_are_joined_and_segments_made_longer) {
  open_devices();
  Pool pool(0);
  void* const s = driver::first_stream(0);
  std::vector<void*> parts;
  for (int i = 0; i < 8; ++i) parts.push_back(pool.allocate(kMiB, s));
  EXPECT_EQ(pool.reserved(), 8 * kMiB);
  for (int i : {1, 3, 5, 7, 0, 2, 6, 4}) pool.release(parts[size_t(i)]);
  void* const whole = pool.allocate(8 * kMiB, s);
  EXPECT_EQ(whole, parts[0]);
  EXPECT_EQ(pool.reserved(), 8 * kMiB);
  pool.release(whole);
  void* const more = pool.allocate(9 * kMiB, s);
  EXPECT_EQ(more, whole);
  EXPECT_EQ(pool.reserved(), 10 * kMiB);
  pool.release(more);
  pool.trim();
}

TEST(cuda_pool, free_places_are_brought_together) {
  open_devices();
  Pool pool(0);
  void* const s = driver::first_stream(0);
  std::vector<void*> parts;
  for (int i = 0; i < 8; ++i) parts.push_back(pool.allocate(4 * kMiB, s));
  auto* const kept = static_cast<int*>(parts[2]);
  launch(set_first, Grid{.threads = 1}, kept, 17);
  for (size_t i = 1; i < 8; i += 2) pool.release(parts[i]);
  const int64_t before = pool.reserved(), asked = pool.driver_allocations();
  auto* const large = static_cast<int*>(pool.allocate(15 * kMiB, s));  // of 16 in four places
  launch(set_first, Grid{.threads = 1}, large, 4);
  int values[2] = {};
  driver::copy(0, &values[0], large, 4, driver::Way::to_host, s);
  driver::copy(0, &values[1], kept, 4, driver::Way::to_host, s);
  driver::wait_stream(0, s);
  EXPECT_EQ(values[0], 4);
  EXPECT_EQ(values[1], 17);
  EXPECT_EQ(pool.reserved(), before);
  EXPECT_EQ(pool.driver_allocations(), asked);
  pool.release(large);
  for (size_t i = 0; i < 8; i += 2) pool.release(parts[i]);
  pool.trim();
  EXPECT_EQ(pool.reserved(), 0);
}

TEST(cuda_pool, other_streams_come_later) {
  open_devices();
  Pool pool(0);
  const Streams s;
  auto* const p = static_cast<int*>(pool.allocate(2 * kMiB, s.a));
  keep_busy(s.a, p);
  pool.release(p);
  void* const q = pool.allocate(2 * kMiB, s.b);
  EXPECT_NE(q, p);  // stream a may still write there
  pool.release(q);
  driver::wait_stream(0, s.a);
  void *const x = pool.allocate(2 * kMiB, s.b), *const y = pool.allocate(2 * kMiB, s.b);
  EXPECT_TRUE(x == q && y == p);  // it is done
  EXPECT_EQ(pool.reserved(), 4 * kMiB);
  pool.release(x);
  pool.release(y);
  pool.trim();
}

TEST(cuda_pool, used_on_another_stream) {
  open_devices();
  Pool pool(0);
  const Streams s;
  for (int64_t bytes : {1000, 1 << 20}) {
    auto* const p = static_cast<int*>(pool.allocate(bytes, s.a));
    keep_busy(s.b, p);
    pool.used_on(p, s.b);
    pool.used_on(p, s.a);
    pool.release(p);
    void* const q = pool.allocate(bytes, s.a);
    EXPECT_NE(q, p);
    driver::wait_stream(0, s.b);
    pool.trim();  // looks again who is done
    pool.release(q);
    pool.trim();
  }
  EXPECT_EQ(pool.reserved(), 0);
}

TEST(cuda_pool, a_stream_that_is_deleted) {
  open_devices();
  Pool pool(0);
  void* const s = driver::first_stream(0);
  void* const gone = driver::new_stream(0, 0);
  void *const p = pool.allocate(2 * kMiB, gone), *const small = pool.allocate(100, gone),
              *const q = pool.allocate(2 * kMiB, gone);
  pool.release(q);
  driver::wait_stream(0, gone);
  pool.forget(gone);
  driver::delete_stream(0, gone);
  EXPECT_EQ(pool.allocate(2 * kMiB, s), q);
  pool.release(p);
  EXPECT_EQ(pool.allocate(2 * kMiB, s), p);
  pool.release(small);
  pool.release(p);
  pool.release(q);
  pool.trim();
  EXPECT_EQ(pool.reserved(), 0);
}

TEST(cuda_pool, the_last_memory_is_waited_for) {
  open_devices();
  Pool pool(0);
  const Streams s;
  const int64_t most = 640 * kMiB;  // of 1024
  auto* const p = static_cast<int*>(pool.allocate(most, s.a));
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(pool.allocate(most, s.b), nullptr);
  keep_busy(s.a, p);
  pool.release(p);
  auto* const q = static_cast<int*>(pool.allocate(most, s.b));
  EXPECT_EQ(q, p);
  choose_stream(0, s.b);
  launch(set_first, Grid{.threads = 1}, q, 2);  // after what stream a does there
  choose_stream(0, nullptr);
  int value = 0;
  driver::copy(0, &value, q, 4, driver::Way::to_host, s.b);
  driver::wait_stream(0, s.b);
  EXPECT_EQ(value, 2);
  driver::wait_device(0);
  EXPECT_EQ(pool.allocate(1024 * kMiB, s.b), nullptr);
  pool.release(q);
  void* const all = pool.allocate(1024 * kMiB, s.a);  // once the segments have gone back
  EXPECT_NE(all, nullptr);
  pool.release(all);
  pool.trim();
}

TEST(cuda_pool, no_two_at_one_place) {
  open_devices();
  Pool pool(0);
  const Streams s;
  std::mt19937_64 random(1);
  std::map<char*, int64_t> live;
  for (int step = 0; step < 20000; ++step) {
    if (random() % 100 < 52 && live.size() < 400) {
      const int64_t bytes = int64_t(random() % (random() % 2 ? 40000 : 1 << 21));
      auto* const p = static_cast<char*>(pool.allocate(bytes, random() % 3 ? s.a : s.b));
      if (!p) continue;
      const auto next = live.lower_bound(p);
      ASSERT_TRUE(next == live.end() || p + bytes <= next->first);
      ASSERT_TRUE(next == live.begin() || std::prev(next)->first + std::prev(next)->second <= p);
      live[p] = bytes ? bytes : 1;
      if (random() % 10 == 0) pool.used_on(p, s.b);
    } else if (!live.empty()) {
      auto it = live.lower_bound(live.begin()->first + int64_t(random() % (1 << 28)));
      if (it == live.end()) it = live.begin();
      pool.release(it->first);
      live.erase(it);
    }
    if (random() % 3000 == 0) pool.trim();
  }
  for (const auto& [p, bytes] : live) pool.release(p);
  driver::wait_device(0);
  pool.trim();
  EXPECT_EQ(pool.reserved(), 0);
}

__global__ void add_one(int* at, int n) {
  __shared__ int held[64];
  const int i = int(threadIdx.x);
  if (i < n) held[i] = at[i];
  __syncthreads();
  if (i < n) at[n - 1 - i] = held[n - 1 - i] + 1;
}
TEST(cuda_pool, threads_with_streams_of_their_own) {
  open_devices();
  Pool pool(0);
  const auto work = [&](int id) {
    enter_device(0);
    void* const stream = driver::new_stream(0, 0);
    choose_stream(0, stream);
    for (int step = 0; step < 50; ++step) {
      const int n = 1 + (step * 7 + id) % 64;
      std::vector<int> host(size_t(n), step * id);
      auto* const p = static_cast<int*>(pool.allocate(n * 4, stream));
      driver::copy(0, p, host.data(), n * 4, driver::Way::to_device, stream);
      launch(add_one, Grid{.threads = 64}, p, n);
      auto* const q = static_cast<int*>(pool.allocate(n * 4, stream));
      driver::copy(0, q, p, n * 4, driver::Way::within, stream);
      pool.release(p);
      launch(add_one, Grid{.threads = 64}, q, n);
      driver::copy(0, host.data(), q, n * 4, driver::Way::to_host, stream);
      driver::wait_stream(0, stream);
      pool.release(q);
      EXPECT_EQ(host, std::vector<int>(size_t(n), step * id + 2));
    }
    pool.forget(stream);
    driver::delete_stream(0, stream);
  };
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id) threads.emplace_back(work, id);
  for (std::thread& t : threads) t.join();
  pool.trim();
  EXPECT_EQ(pool.reserved(), 0);
}

// Steps of a transformer as tensors come and go: parameters stay, activations live until their layer's backward, gradients
// until the optimizer has used them, its states from the first step on.
struct Training {
  Pool& pool;
  int64_t live = 0, peak = 0;
  void* const stream = driver::first_stream(0);
  std::map<void*, int64_t> bytes{};

  void* make(int64_t elements) {
    const int64_t n = (elements * 2 + 4095) / 4096 * 4096;
    void* const p = pool.allocate(n, stream);
    EXPECT_NE(p, nullptr);
    bytes[p] = n;
    live += n;
    peak = std::max(peak, live);
    return p;
  }
  void drop(void* p) {
    live -= bytes[p];
    bytes.erase(p);
    pool.release(p);
  }
};
TEST(cuda_pool, slack_of_a_training) {
  open_devices();
  for (const int64_t width : {384, 512, 640}) {
    Pool pool(0);
    Training t{pool};
    const int64_t layers = 8, rows = 2048, words = 16000;
    std::vector<int64_t> sizes{words * width};
    for (int64_t i = 0; i < layers; ++i)
      for (int64_t n : {width, 3 * width * width, 3 * width, width * width, width, width, 4 * width * width, 4 * width,
                        4 * width * width, width})
        sizes.push_back(n);
    std::vector<void*> parameters, states, gradients(sizes.size());
    for (int64_t n : sizes) parameters.push_back(t.make(n));
    int64_t after_two = 0;
    for (int step = 0; step < 8; ++step) {
      const int64_t r = rows - (step + 2) % 3 * 64;  // of different lengths, the longest in the second step
      if (step == 2) after_two = pool.driver_allocations();
      std::vector<std::vector<void*>> saved;
      void* x = t.make(r * width);
      for (int64_t i = 0; i < layers; ++i) {
        std::vector<void*> keep{x};
        const auto held = [&](int64_t n) { return keep.emplace_back(t.make(n)); };
        held(r * width), held(r * 2), held(3 * r * width);
        void* const scratch = t.make(r * 128);
        held(r * width), held(r * 16);
        t.drop(scratch);
        void* const projected = t.make(r * width);
        held(r * width);
        t.drop(projected);
        held(r * width), held(4 * r * width), held(4 * r * width);
        void* const down = t.make(r * width);
        x = t.make(r * width);
        t.drop(down);
        saved.push_back(keep);
      }
      void* const logits = t.make(r / 4 * words);
      void* g = t.make(r * width);
      t.drop(logits);
      t.drop(x);
      const auto gradient = [&](size_t k) {
        if (!gradients[k]) gradients[k] = t.make(sizes[k]);
      };
      for (size_t i = size_t(layers); i-- > 0;) {
        for (size_t k = 10; k-- > 0;) {
          gradient(1 + i * 10 + k);
          if (k % 3 == 0) {
            void* const next = t.make(r * width * (k == 9 ? 4 : 1));
            t.drop(g);
            g = next;
          }
          t.drop(saved[i][k]);
        }
      }
      gradient(0);
      t.drop(g);
      for (size_t k = 0; k < sizes.size(); ++k) {
        if (step == 0) states.push_back(t.make(2 * sizes[k])), states.push_back(t.make(2 * sizes[k]));
        t.drop(gradients[k]);
        gradients[k] = nullptr;
      }
    }
    EXPECT_EQ(pool.driver_allocations(), after_two) << width;
    EXPECT_LE(double(pool.reserved()), 1.05 * double(t.peak)) << width << ": " << pool.reserved() << " for " << t.peak;
    for (void* p : parameters) t.drop(p);
    for (void* p : states) t.drop(p);
    pool.trim();
    EXPECT_EQ(pool.reserved(), 0);
  }
}

}  // namespace
}  // namespace dyadic::gpu
