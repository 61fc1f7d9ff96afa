// One parallel_for as the threads share it: numbered pieces, a share of neighbouring ones for each thread, and the first
// exception.
#pragma once
#include <atomic>
#include <exception>
#include <mutex>

#include "base/parallel.h"

namespace dyadic::inline v1 {

// A thread takes the pieces of its own share in order, then what is left of the others'. So ops in turn find in a core's cache
// what the last one left there (x + 1 of 2 MB 0.052 to 0.03 ms where pieces went to whoever came first), and a thread that the
// system puts aside delays nothing. Every other job of a thread goes backwards: what an op touched last, and a cache still has,
// the next one reads first; forwards again, data a little larger than the cache would all have left it.
struct Job {
  static constexpr int kMostShares = 32;  // beyond that threads have them in common
  struct alignas(64) Share {
    int64_t next, end, ends;  // next: by atomic_ref, so that shares that a job doesn't have cost nothing; ends: begin + end - 1
  };
  FunctionRef<void(int64_t, int64_t)> body;
  int64_t n, chunk, pieces;
  int shares;
  bool backwards;
  std::mutex mutex;
  std::atomic<int64_t> failed{INT64_MAX};  // lowest piece that threw
  std::exception_ptr error{};
  Share share[kMostShares];

  Job(FunctionRef<void(int64_t, int64_t)> body, int64_t n, int64_t chunk, int64_t pieces, int threads, bool backwards);
  // Runs pieces until none is left. A failure stops only the pieces behind it, so all before the failed one have run: the
  // exception that comes out is the one of the lowest piece, whatever the number of threads.
  void run(int index) noexcept;

 private:
  void run_share(Share& s) noexcept;
};

struct ThreadState {
  int index = 0;
  bool inside = false;
};
ThreadState& thread_state();

// The backend: job.run(index) on the calling thread (index 0) and on up to threads - 1 others. Returns when no thread is
// inside.
void run_on_threads(Job& job, int threads);

}  // namespace dyadic::inline v1
