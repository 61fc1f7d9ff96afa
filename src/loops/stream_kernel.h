// Writing large results past the caches. An ordinary store reads the line that it overwrites; of a fresh result larger than the
// caches that is a quarter (add) to a third (bf16 to f32) of all traffic.
#pragma once
#include <cstdint>

#include "base/parallel.h"

namespace dyadic::inline v1 {

int64_t stream_bytes();  // the last cache's size, 32 MiB at least: smaller results are likely to be read from a cache

struct StreamKernel {
  // memcpy to memory that nobody reads soon. Written lines are visible to other threads after flush().
  void (*write)(char* dst, const char* src, int64_t bytes);
  void (*flush)();
};

}  // namespace dyadic::inline v1

DY_KERNEL(StreamKernel, stream_kernel)
