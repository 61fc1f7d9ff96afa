// What a strided copy or fill does, once its dimensions are sorted and merged. No data is touched here.
#pragma once
#include <cstdint>

namespace dyadic::inline v1 {

inline constexpr int kMaxCopyDims = 16;

// Dimensions innermost first: d = 0 has the smallest destination stride. Strides are in bytes; destination strides are
// positive.
struct StridedPlan {
  enum class Kind : uint8_t {
    nothing,    // no elements
    run,        // dimension 0 is contiguous on both sides: rows of `size[0] * width` bytes
    splat,      // dimension 0 is contiguous in the destination and repeats one source element
    transpose,  // dimension 0 is contiguous in the destination, dimension 1 in the source
    gather,     // anything else: element by element
  };
  Kind kind = Kind::nothing;
  int ndim = 0;       // at least 1 unless kind is nothing
  int64_t width = 0;  // bytes of an element: 1, 2, 4, 8 or 16; short contiguous runs become one wider element
  int64_t size[kMaxCopyDims]{}, dst_stride[kMaxCopyDims]{}, src_stride[kMaxCopyDims]{};
  char* dst = nullptr;
  const char* src = nullptr;
};

// Sizes and strides (in elements, any sign) outermost first; dst and src point at the element of index zero.
// ndim <= kMaxCopyDims after dimensions of size 1 are dropped.
StridedPlan plan_copy(void* dst, const int64_t* dst_strides, const void* src, const int64_t* src_strides, const int64_t* sizes,
                      int ndim, int64_t width);
// The same without a source: kind is nothing, splat or gather.
StridedPlan plan_fill(void* dst, const int64_t* dst_strides, const int64_t* sizes, int ndim, int64_t width);

}  // namespace dyadic::inline v1
