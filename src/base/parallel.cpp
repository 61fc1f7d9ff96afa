// parallel_for: cuts the work, carries exceptions out, counts threads. The threads themselves: threads_openmp.cpp,
// threads_std.cpp.
#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include "base/check.h"
#include "base/job.h"

namespace dyadic::inline v1 {

namespace {

int default_threads() {
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    char* end;
    long n = std::strtol(text, &end, 10);  // "4,2": the first number is the outer level's
    if (end != text && n >= 1 && n <= 4096) return int(n);
  }
  cpu_set_t set;  // machines with more than 1024 processors fail here and get one thread; OMP_NUM_THREADS says otherwise
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::atomic<int>& threads() {
  static std::atomic<int> n{default_threads()};
  return n;
}

void run(int64_t n, int64_t chunk, FunctionRef<void(int64_t, int64_t)> body) {
  int count = num_threads();
  int64_t pieces = (n + chunk - 1) / chunk;
  if (pieces <= 1 || count == 1 || thread_state().inside) {
    body(0, n);
    return;
  }
  static thread_local bool backwards = false;
  Job job(body, n, chunk, pieces, count, backwards = !backwards);
  run_on_threads(job, count);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace

ThreadState& thread_state() {
  static thread_local ThreadState state;
  return state;
}

Job::Job(FunctionRef<void(int64_t, int64_t)> f, int64_t n, int64_t chunk, int64_t pieces, int threads, bool backwards)
    : body(f),
      n(n),
      chunk(chunk),
      pieces(pieces),
      shares(int(std::min<int64_t>({pieces, threads, kMostShares}))),
      backwards(backwards) {
  for (int64_t k = 0; k < shares; k++) {
    const int64_t begin = pieces * k / shares, end = pieces * (k + 1) / shares;
    share[k] = {begin, end, begin + end - 1};
  }
}

void Job::run_share(Share& s) noexcept {
  const std::atomic_ref next(s.next);
  for (int64_t k; (k = next.fetch_add(1, std::memory_order_relaxed)) < s.end;) {
    const int64_t i = backwards ? s.ends - k : k;
    if (i > failed.load(std::memory_order_relaxed)) continue;
    try {
      body(i * chunk, i + 1 == pieces ? n : (i + 1) * chunk);
    } catch (...) {
      std::lock_guard lock(mutex);
      if (i < failed.load(std::memory_order_relaxed)) {
        failed.store(i, std::memory_order_relaxed);
        error = std::current_exception();
      }
    }
  }
}

void Job::run(int index) noexcept {
  ThreadState& state = thread_state();
  ThreadState before = state;
  state = {index, true};
  for (int k = 0; k < shares; k++) run_share(share[(index + k) % shares]);
  state = before;
}

void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (n <= grain || n <= 0) {
    if (n > 0) body(0, n);
    return;
  }
  // Four pieces per thread: when another process takes a core away, the other threads finish the work; one piece costs about 20
  // ns.
  run(n, std::max({n / (int64_t(num_threads()) * 4), grain, int64_t(1)}), body);
}

void parallel_each(int64_t n, FunctionRef<void(int64_t)> body) {
  auto range = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) body(i);
  };
  if (n > 0) run(n, 1, range);
}

int num_threads() { return threads().load(std::memory_order_relaxed); }
void set_num_threads(int n) {
  DY_CHECK_AS(ValueError, n >= 1, "set_num_threads: at least one thread is needed: n is {}", n);
  DY_CHECK_AS(ValueError, n <= 4096,
              "set_num_threads: more than 4096 threads: n is {}; the number of cores is the useful limit", n);
  threads().store(n, std::memory_order_relaxed);
}
int thread_index() { return thread_state().index; }
bool in_parallel() { return thread_state().inside; }

}  // namespace dyadic::inline v1
