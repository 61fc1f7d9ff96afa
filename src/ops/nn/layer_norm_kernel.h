// Layer normalization over rows: y = (x - mean) rstd weight + bias, rstd = 1 / sqrt(variance + eps), variance over n (biased).
// Without centring the mean is taken for 0, which makes the variance the mean square: RMS normalization.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "loops/operand.h"

namespace dyadic::inline v1 {

struct LayerNormShape {
  int64_t rows = 0, n = 0;
  bool centred = true;
};

// x, y, dy, dx are [rows, n], y may be x; weight, bias and their gradients are [n], each may be null (weight: 1, bias: 0).
// Formats are all f64, or any other floats, computed in f32 and rounded once. mean and rstd are [rows] of the compute type (f32
// or f64). Threads inside; the rows of dweight and dbias are added in an order fixed by the shape. Workspaces are bytes,
// aligned to 64.
struct LayerNormKernel {
  int64_t (*forward_workspace)(const LayerNormShape& shape, Source weight, Source bias);
  void (*forward)(const LayerNormShape& shape, Source x, Source weight, Source bias, double eps, Target y, void* mean,
                  void* rstd, void* workspace);
  // dx may be dy; dx, dweight and dbias may be null. `x` as Source names the compute type.
  int64_t (*backward_workspace)(const LayerNormShape& shape, Source x, Source weight);
  void (*backward)(const LayerNormShape& shape, Source dy, Source x, Source weight, const void* mean, const void* rstd,
                   Target dx, Target dweight, Target dbias, void* workspace);
};

}  // namespace dyadic::inline v1

DY_KERNEL(LayerNormKernel, layer_norm_kernel)
