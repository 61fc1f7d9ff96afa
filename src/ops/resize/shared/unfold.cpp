#include <algorithm>

#include "loops/strided_copy_kernel.h"
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
int64_t padded_bytes(const Patches& p, DType dtype) {
  return p.batch * p.channels * p.padded(0) * p.padded(1) * dtype.itemsize();
}
Array padded_images(const Patches& p, void* memory, DType dtype) {
  const int64_t sizes[] = {p.batch, p.channels, p.padded(0), p.padded(1)}, zero = 0;
  const Array images(sizes, dtype, memory);
  alignas(16) char stored[16];
  convert(*i64.format(), &zero, *dtype.format(), stored, 1);
  strided_copy_kernel().fill(memory, images.steps, images.lengths, images.ndim, stored, dtype.itemsize());
  return images;
}
Array inner_images(const Patches& p, const Array& padded) {
  return padded.narrow(2, p.padding[0], p.size[0]).narrow(3, p.padding[1], p.size[1]);
}
Array patch_view(const Patches& p, const Array& padded) {
  const int64_t row = padded.stride(2), sizes[] = {p.batch, p.channels, p.kernel[0], p.kernel[1], p.count[0], p.count[1]};
  const int64_t strides[] = {padded.stride(0), padded.stride(1),  p.dilation[0] * row,
                             p.dilation[1],    p.stride[0] * row, p.stride[1]};
  return padded.view(sizes, strides);
}

}  // namespace dyadic::inline v1::ops
