// One parallel_for as the threads share it: numbered pieces handed out in order, and the first exception.
#pragma once
#include <atomic>
#include <exception>
#include <mutex>

#include "base/parallel.h"

namespace dyadic::inline v1 {

struct Job {
  FunctionRef<void(int64_t, int64_t)> body;
  int64_t n, chunk, pieces;
  alignas(64) std::atomic<int64_t> next{0};
  std::mutex mutex;
  int64_t failed = INT64_MAX;  // lowest piece that threw
  std::exception_ptr error{};

  // Runs pieces until none is left. Pieces are handed out in order and a failure stops only those after it, so all before the
  // failed piece have run: the exception that comes out is the one of the lowest piece, whatever the number of threads.
  void run(int index) noexcept;
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
