// Convolutions and their gradients on raw pointers, in one, two or three dimensions (axes that are missing have size 1).
//
// Note [Convolution as a product]: y[position, filter] = sum over steps (channel, tap) of x[position, step] w[step, filter].
// The element (position, step) of x lies at the sum of an offset of the position and an offset of the step, so the matrix of
// patches is never built: the register tile of conv_micro.h takes two tables of offsets. The gradient of the input is the same
// product with filters as channels, once for each residue of the position modulo the stride; that of the weight is the product
// with positions as steps. A block of input is copied first, decoded and with its padding: 1 % to 5 % of the time.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "loops/operand.h"

namespace dyadic::inline v1 {

struct ConvShape {
  int64_t batch = 1, groups = 1, channels = 0, filters = 0;  // channels and filters of one group
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, low[3] = {}, dilation[3] = {1, 1, 1};  // low: padding before the first element
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

// x [batch, groups * channels, in...], y [batch, groups * filters, out...], w [groups * filters, channels, kernel...]; formats
// are all f64, or any other floats, computed in f32 and rounded once. Threads inside; bits depend on the shape and the
// instruction set alone. Workspaces are bytes for the present num_threads(), of any alignment.
struct ConvKernel {
  int64_t (*forward_workspace)(const ConvShape& shape, Source x, Source w);
  void (*forward)(const ConvShape& shape, Source x, Source w, Source bias, Target y, void* workspace);  // bias may be null
  int64_t (*input_workspace)(const ConvShape& shape, Source dy, Source w);
  void (*input)(const ConvShape& shape, Source dy, Source w, Source bias, Target dx, void* workspace);
};
struct ConvWeightKernel {
  int64_t (*workspace)(const ConvShape& shape, Source x);
  void (*run)(const ConvShape& shape, Source x, Source dy, Target dw, void* workspace);
};

}  // namespace dyadic::inline v1

DY_KERNEL(ConvKernel, conv_kernel)
DY_KERNEL(ConvWeightKernel, conv_weight_kernel)
