// Moving elements between strided layouts by width: copies, permutes, broadcasts, fills. Nothing is decoded.
#pragma once
#include <cstdint>

#include "base/parallel.h"

namespace dyadic::inline v1 {

// Sizes and strides (in elements, any sign, any order) are outermost first; pointers name the element of index zero; at most 16
// dimensions larger than 1; width is 1, 2, 4, 8 or 16 bytes. Destination elements must be distinct, source strides may be 0,
// and the two must not overlap. Threads inside.
struct StridedCopyKernel {
  void (*copy)(void* dst, const int64_t* dst_strides, const void* src, const int64_t* src_strides, const int64_t* sizes,
               int ndim, int64_t width);
  // dst[i] = src[i] at strides in bytes, on this thread.
  void (*spaced)(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n, int64_t width);
  void (*splat)(char* dst, const char* value, int64_t n, int64_t width);  // n copies, on this thread
  // dst[2 i] = a[i], dst[2 i + 1] = b[i], all dense. Threads inside.
  void (*interleave)(void* dst, const void* a, const void* b, int64_t n, int64_t width);
  void (*fill)(void* dst, const int64_t* dst_strides, const int64_t* sizes, int ndim, const void* value, int64_t width);
};

}  // namespace dyadic::inline v1

DY_KERNEL(StridedCopyKernel, strided_copy_kernel)
