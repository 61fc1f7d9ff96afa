#include "device/failure.h"

#include "base/check.h"

namespace dyadic::inline v1 {

constinit std::atomic<int64_t> g_failure_in{0};

void fail_allocation(int64_t n) { g_failure_in = n; }
void count_down(int64_t bytes) {
  DY_CHECK_AS(OutOfMemoryError, --g_failure_in != 0, "out of memory: {} bytes were refused, as planned", bytes);
}

}  // namespace dyadic::inline v1
