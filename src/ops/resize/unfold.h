// Patches of images: [N, C, H, W] as [N, C kernel, positions], and their sum back. Both look at a padded copy through strides.
#pragma once
#include "ops/composite.h"

namespace dyadic::inline v1::ops {

struct Patches {
  int64_t batch, channels, size[2], kernel[2], stride[2], padding[2], dilation[2], count[2];
  int64_t padded(int d) const { return size[d] + 2 * padding[d]; }
};
// `args`: kernel_size, dilation, padding, stride.
Patches patches(const char* who, IntList image, IntList kernel, IntList dilation, IntList padding, IntList stride);
// The padded images, zeros, dense in `memory`, and all their patches as [N, C, kernel, kernel, rows, columns].
int64_t padded_bytes(const Patches& p, DType dtype);
Array padded_images(const Patches& p, void* memory, DType dtype);
Array inner_images(const Patches& p, const Array& padded);
Array patch_view(const Patches& p, const Array& padded);

}  // namespace dyadic::inline v1::ops
