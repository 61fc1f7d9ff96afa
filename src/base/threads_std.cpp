// parallel_for's threads by std::thread: a pool whose idle threads spin for 100 us, then sleep. Unlike OpenMP's team no barrier
// waits for a thread that has not begun: when the pieces run out the caller closes the job and waits only for those inside, so
// a thread that the system has put aside delays nothing. ThreadSanitizer understands all of it.
// A region of two pieces on two cores costs 0.3 us (libgomp 1.1), beside eight other busy processes 0.2-0.4 us (libgomp 24-110:
// its barrier waits for whole time slices); waking a sleeper 10 us.
//
// Note [Libraries with threads]: oneDNN would start an OpenMP team of its own in each of our threads; inside a parallel_for
// every thread's OpenMP limit is therefore one.
#if DYADIC_THREADS_STD
#include <immintrin.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <thread>
#include <vector>

#include "base/job.h"

namespace dyadic::inline v1 {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSpin = std::chrono::microseconds(100);  // longer than the gaps between ops of a training step

class Pool {
  // The job's number (high half), whether it is closed, and how many workers are inside, in one word: a worker enters by one
  // compare-and-swap that fails when anything has changed.
  static constexpr uint64_t kClosed = uint64_t(1) << 31, kInside = kClosed - 1;
  alignas(64) std::atomic<uint64_t> state_{kClosed};
  std::atomic<Job*> job_{nullptr};
  alignas(64) std::atomic<int> asleep_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::thread> workers_;

 public:
  explicit Pool(int threads) {
    for (int i = 1; i < threads; i++) workers_.emplace_back([this, i] { work(i); });
  }
  ~Pool() {
    stop_ = true;
    { std::lock_guard lock(mutex_); }
    wake_.notify_all();
    for (auto& w : workers_) w.join();
  }
  int threads() const { return int(workers_.size()) + 1; }

  void run(Job& job) {
    job_.store(&job, std::memory_order_relaxed);
    uint64_t open = ((state_.load(std::memory_order_relaxed) >> 32) + 1) << 32;
    state_.store(open);  // sequentially consistent, as asleep_: either we see the sleeper or it sees the job
    if (int sleepers = asleep_.load()) {
      { std::lock_guard lock(mutex_); }
      if (job.pieces - 1 >= sleepers)
        wake_.notify_all();
      else
        for (int64_t i = 1; i < job.pieces; i++) wake_.notify_one();
    }
    int openmp = omp_get_max_threads();  // Note [Libraries with threads]
    omp_set_num_threads(1);
    job.run(0);
    omp_set_num_threads(openmp);
    state_.fetch_or(kClosed, std::memory_order_acq_rel);
    for (int spins = 0; state_.load(std::memory_order_acquire) & kInside; spins++)
      spins < 2000 ? _mm_pause() : (void)sched_yield();
  }

 private:
  bool changed(uint64_t seen) const { return stop_.load() || (state_.load() >> 32) != seen; }

  void wait(uint64_t seen) {
    for (auto begin = Clock::now(); Clock::now() - begin < kSpin;)
      for (int i = 0; i < 16; i++) {
        if (changed(seen)) return;
        _mm_pause();
      }
    std::unique_lock lock(mutex_);
    asleep_++;
    wake_.wait(lock, [&] { return changed(seen); });
    asleep_--;
  }
  void work(int index) {
    omp_set_num_threads(1);
    for (uint64_t seen = 0;;) {
      wait(seen);
      if (stop_.load()) return;
      uint64_t s = state_.load(std::memory_order_acquire);
      seen = s >> 32;
      while (!(s & kClosed) && s >> 32 == seen)
        if (state_.compare_exchange_weak(s, s + 1, std::memory_order_acq_rel)) {
          job_.load(std::memory_order_relaxed)->run(index);
          state_.fetch_sub(1, std::memory_order_release);
          break;
        }
    }
  }
};

// One pool for the process. A second thread that calls while the pool is busy runs its work alone: the bits are the same.
std::mutex& pool_mutex() {
  static std::mutex& m = *new std::mutex;
  return m;
}
Pool*& pool() {
  static Pool* p = nullptr;
  return p;
}
void forget_after_fork() { pool() = nullptr; }  // a child has only the forking thread; the parent's pool is left as it is

}  // namespace

void run_on_threads(Job& job, int threads) {
  std::unique_lock lock(pool_mutex(), std::try_to_lock);
  if (!lock) {
    job.run(0);
    return;
  }
  if (!pool() || pool()->threads() != threads) {
    [[maybe_unused]] static const int registered = [] {
      pthread_atfork([] { pool_mutex().lock(); }, [] { pool_mutex().unlock(); },
                     [] { forget_after_fork(), pool_mutex().unlock(); });
      std::atexit([] { delete std::exchange(pool(), nullptr); });
      return 0;
    }();
    delete std::exchange(pool(), nullptr);
    pool() = new Pool(threads);
  }
  pool()->run(job);
}

}  // namespace dyadic::inline v1
#endif
