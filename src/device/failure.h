// Planned failures, by which tests find out what becomes of a call that is refused memory. Counted are tensors' storages and
// workspaces; with sanitizers handles and tape nodes too.
#pragma once
#include <atomic>
#include <cstdint>

namespace dyadic::inline v1 {

void fail_allocation(int64_t n);  // the n-th from now on raises OutOfMemoryError, once; 0: none will

extern std::atomic<int64_t> g_failure_in;
void count_down(int64_t bytes);
inline void may_fail(int64_t bytes) {
  if (g_failure_in.load(std::memory_order_relaxed)) [[unlikely]]
    count_down(bytes);
}

}  // namespace dyadic::inline v1
