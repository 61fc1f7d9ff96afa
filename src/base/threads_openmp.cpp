// parallel_for's threads by OpenMP. libgomp reads its waiting policy from the environment when it is loaded, before any code of
// ours: set GOMP_SPINCOUNT=10000 to let idle threads sleep after some tens of microseconds instead of its default of
// milliseconds.
#if !DYADIC_THREADS_STD
#include <omp.h>

#include "base/job.h"

namespace dyadic::inline v1 {

void run_on_threads(Job& job, int threads) {
  // Always the full team: libgomp ends the threads that a smaller one doesn't need, and starting them again costs 20 us each.
#pragma omp parallel num_threads(threads)
  job.run(omp_get_thread_num());
}

}  // namespace dyadic::inline v1
#endif
