#include "loops/decode.h"

#include <algorithm>

#include "base/parallel.h"
#include "loops/pointwise.h"

namespace dyadic::inline v1 {

Tensor decode_scaled(const Tensor& t) {
  const TensorImpl& i = *t.impl();
  const Format& f = *i.dtype.format();
  int64_t low = i.offset, high = i.offset;  // the span of storage order it touches
  for (int d = 0; d < i.ndim; ++d) (i.strides[d] < 0 ? low : high) += i.strides[d] * (i.sizes[d] - 1);
  int64_t span = i.numel ? high - low + 1 : 0;
  Tensor flat = make_tensor({span}, f32, i.device());
  if (!i.device().is_meta()) {
    auto* out = reinterpret_cast<float*>(flat.impl()->data());
    constexpr int64_t kChunk = 64 << 10;  // whole blocks of every format
    parallel_for((span + kChunk - 1) / kChunk, 1, [&](int64_t b, int64_t e) {
      f.def->decode_range(f, i.storage->data, i.storage->geometry, low + b * kChunk, low + std::min(span, e * kChunk),
                          out + b * kChunk);
    });
  }
  return make_view(flat, i.shape(), {i.strides, i.ndim}, i.offset - low);
}

void read_values(const Tensor& t, void* out) {
  Tensor source = t.dtype().is_scaled() ? decode_scaled(t) : t;
  DType to{&compute_format(source.dtype().format()->compute())};
  Tensor target = make_over(out, t.sizes(), to);
  copy_elements(target, source);
}

}  // namespace dyadic::inline v1
