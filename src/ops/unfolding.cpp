#include <algorithm>

#include "ops/resize/unfold.h"

namespace dyadic::inline v1::ops {

Patches patches(const char* who, IntList image, IntList kernel, IntList dilation, IntList padding, IntList stride) {
  Patches p{};
  p.batch = image[0], p.channels = image[1], p.size[0] = image[2], p.size[1] = image[3];
  spread(who, "kernel_size", kernel, 2, p.kernel);
  spread(who, "dilation", dilation, 2, p.dilation);
  spread(who, "padding", padding, 2, p.padding);
  spread(who, "stride", stride, 2, p.stride);
  for (int d = 0; d < 2; ++d) {
    DY_CHECK(p.kernel[d] > 0 && p.dilation[d] > 0 && p.stride[d] > 0 && p.padding[d] >= 0,
             "{}: a size is not positive: kernel_size is {}, dilation is {}, padding is {}, stride is {}", who,
             shape_text(kernel), shape_text(dilation), shape_text(padding), shape_text(stride));
    const int64_t room = p.padded(d) - p.dilation[d] * (p.kernel[d] - 1) - 1;
    DY_CHECK(room >= 0, "{}: the patch does not fit: the image is {}, kernel_size is {}, dilation is {}, padding is {}", who,
             shape_text(image), shape_text(kernel), shape_text(dilation), shape_text(padding));
    p.count[d] = room / p.stride[d] + 1;
  }
  return p;
}
Tensor padded_images(const Patches& p, void* memory, DType dtype) {
  return make_over(memory, {p.batch, p.channels, p.padded(0), p.padded(1)}, dtype);
}
Tensor inner_images(const Patches& p, const Tensor& padded) {
  return make_view(padded, {p.batch, p.channels, p.size[0], p.size[1]}, padded.strides(),
                   p.padding[0] * padded.stride(2) + p.padding[1]);
}
Tensor patch_view(const Patches& p, const Tensor& padded) {
  const int64_t row = padded.stride(2);
  return make_view(padded, {p.batch, p.channels, p.kernel[0], p.kernel[1], p.count[0], p.count[1]},
                   {padded.stride(0), padded.stride(1), p.dilation[0] * row, p.dilation[1], p.stride[0] * row, p.stride[1]}, 0);
}

}  // namespace dyadic::inline v1::ops
