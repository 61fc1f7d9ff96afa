#include "plugins/cuda/attention/boxes.h"

#if __CUDACC__
#include <algorithm>
#include <vector>

#include "plugins/cuda/runtime/driver.h"

namespace dyadic::gpu {
namespace {

decltype(&cuTensorMapEncodeTiled) encoder() {
  static const auto found = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(driver_function("cuTensorMapEncodeTiled"));
  return found;
}

}  // namespace

bool is_hopper() {
  static const std::vector<bool> each = [] {
    std::vector<bool> all;
    for (int i = 0; i < driver::count(); ++i) {
      const DeviceProperties d = driver::properties(i);
      all.push_back(d.major == 9 && d.minor == 0 && encoder());
    }
    return all;
  }();
  return each[size_t(current_device())];
}

bool HeadBoxes::set(const AttentionPlan& p, const void* at, const HeadSteps& s, int64_t rows, int box_rows) {
  constexpr int64_t kMostSize = int64_t{1} << 31, kMostStep = int64_t{1} << 40;
  heads = s.h != 0 && p.heads > 1, batch = s.b != 0 && p.batch > 1;
  const int64_t head_count = heads ? p.heads : 1, batch_count = batch ? p.batch : 1;
  const cuuint64_t sizes[] = {cuuint64_t(p.width), cuuint64_t(rows), cuuint64_t(head_count), cuuint64_t(batch_count)};
  cuuint64_t steps[3];  // bytes
  const int64_t given[] = {rows > 1 ? s.t : p.width, heads ? s.h : 8, batch ? s.b : 8};
  for (int i = 0; i < 3; ++i) {
    if (given[i] <= 0 || given[i] % 8 || 2 * given[i] >= kMostStep) return false;
    steps[i] = cuuint64_t(2 * given[i]);
  }
  if (std::max({rows, p.heads, p.batch}) >= kMostSize || !is_aligned(at)) return false;
  const cuuint32_t box[] = {kBoxColumns, cuuint32_t(box_rows), 1, 1}, ones[] = {1, 1, 1, 1};
  return encoder()(&map, p.code == Code::bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4,
                   const_cast<void*>(at), sizes, steps, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

}  // namespace dyadic::gpu
#endif
