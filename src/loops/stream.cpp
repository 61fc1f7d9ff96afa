// What counts as a large result (stream_kernel.h).
#include <unistd.h>

#include <algorithm>

#include "loops/stream_kernel.h"

namespace dyadic::inline v1 {

int64_t stream_bytes() {
  static const int64_t bytes = std::max<int64_t>(32 << 20, sysconf(_SC_LEVEL3_CACHE_SIZE));  // 0 or less: unknown
  return bytes;
}

}  // namespace dyadic::inline v1
