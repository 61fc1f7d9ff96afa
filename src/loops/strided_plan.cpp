// Sorting and merging the dimensions of a strided copy, so that every layout ends in one of four loops.
#include "loops/strided_plan.h"

#include <utility>

#include "base/check.h"

namespace dyadic::inline v1 {
namespace {

void swap_dims(StridedPlan& p, int a, int b) {
  std::swap(p.size[a], p.size[b]);
  std::swap(p.dst_stride[a], p.dst_stride[b]);
  std::swap(p.src_stride[a], p.src_stride[b]);
}

void erase_dim(StridedPlan& p, int at) {
  for (int d = at; d + 1 < p.ndim; d++) swap_dims(p, d, d + 1);
  p.ndim--;
}

int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

// Takes the caller's dimensions (outermost first) without those of size 1; false if there are no elements.
bool take_dims(StridedPlan& p, const int64_t* dst_strides, const int64_t* src_strides, const int64_t* sizes, int ndim) {
  for (int d = 0; d < ndim; d++) {
    if (sizes[d] == 0) return false;
  }
  for (int d = ndim - 1; d >= 0; d--) {
    if (sizes[d] == 1) continue;
    DY_ASSERT(p.ndim < kMaxCopyDims);
    p.size[p.ndim] = sizes[d];
    p.dst_stride[p.ndim] = dst_strides[d] * p.width;
    p.src_stride[p.ndim] = src_strides ? src_strides[d] * p.width : 0;
    p.ndim++;
  }
  return true;
}

// Walks the destination upwards, small strides inside, and merges dimensions that step as one.
void sort_and_merge(StridedPlan& p) {
  for (int d = 0; d < p.ndim; d++) {
    if (p.dst_stride[d] >= 0) continue;
    p.dst += p.dst_stride[d] * (p.size[d] - 1);
    p.src += p.src_stride[d] * (p.size[d] - 1);
    p.dst_stride[d] = -p.dst_stride[d];
    p.src_stride[d] = -p.src_stride[d];
  }
  auto inside = [&](int a, int b) {
    if (p.dst_stride[a] != p.dst_stride[b]) return p.dst_stride[a] < p.dst_stride[b];
    return magnitude(p.src_stride[a]) < magnitude(p.src_stride[b]);
  };
  for (int d = 1; d < p.ndim; d++) {
    for (int e = d; e > 0 && inside(e, e - 1); e--) swap_dims(p, e, e - 1);
  }
  for (int d = 0; d + 1 < p.ndim;) {
    const bool one = p.dst_stride[d + 1] == p.dst_stride[d] * p.size[d] && p.src_stride[d + 1] == p.src_stride[d] * p.size[d];
    if (one) {
      p.size[d] *= p.size[d + 1];
      erase_dim(p, d + 1);
    } else {
      d++;
    }
  }
}

// A run of 2 to 16 bytes, as the innermost dimension of a permute leaves it, moves as one element.
void widen(StridedPlan& p) {
  if (p.ndim < 2 || p.dst_stride[0] != p.width || p.src_stride[0] != p.width) return;
  const int64_t run = p.size[0] * p.width;
  if (run > 16 || (run & (run - 1)) != 0) return;
  p.width = run;
  erase_dim(p, 0);
}

}  // namespace

StridedPlan plan_copy(void* dst, const int64_t* dst_strides, const void* src, const int64_t* src_strides, const int64_t* sizes,
                      int ndim, int64_t width) {
  StridedPlan p;
  p.width = width;
  p.dst = static_cast<char*>(dst);
  p.src = static_cast<const char*>(src);
  if (!take_dims(p, dst_strides, src_strides, sizes, ndim)) return p;
  sort_and_merge(p);
  widen(p);
  if (p.ndim == 0) {  // one element is a run of one
    p.ndim = 1;
    p.size[0] = 1;
    p.dst_stride[0] = p.src_stride[0] = p.width;
  }
  p.kind = StridedPlan::Kind::gather;
  if (p.dst_stride[0] != p.width) return p;
  if (p.src_stride[0] == p.width) {
    p.kind = StridedPlan::Kind::run;
  } else if (p.src_stride[0] == 0) {
    p.kind = StridedPlan::Kind::splat;
  } else {
    for (int d = 1; d < p.ndim; d++) {
      if (p.src_stride[d] != p.width) continue;
      for (int e = d; e > 1; e--) swap_dims(p, e, e - 1);
      p.kind = StridedPlan::Kind::transpose;
      break;
    }
  }
  return p;
}

StridedPlan plan_fill(void* dst, const int64_t* dst_strides, const int64_t* sizes, int ndim, int64_t width) {
  StridedPlan p;
  p.width = width;
  p.dst = static_cast<char*>(dst);
  if (!take_dims(p, dst_strides, nullptr, sizes, ndim)) return p;
  sort_and_merge(p);
  if (p.ndim == 0) {
    p.ndim = 1;
    p.size[0] = 1;
    p.dst_stride[0] = p.width;
  }
  p.kind = p.dst_stride[0] == p.width ? StridedPlan::Kind::splat : StridedPlan::Kind::gather;
  return p;
}

}  // namespace dyadic::inline v1
