// GPTQ's inner loop, one row of a block of columns (methods/gptq.cpp).
#pragma once
#include "base/parallel.h"

namespace dyadic::inline v1 {

struct GptqKernel {
  // w [width] becomes its rounded self, errors[j] = (w_j - rounded_j) / u[j][j]; u [width, width] is upper triangular. An
  // element can be offset[j] + scale[j] * level[i].
  void (*round_row)(float* w, float* errors, const float* u, int64_t width, const float* scale, const float* offset,
                    const float* level, int64_t levels, bool uniform);
};

}  // namespace dyadic::inline v1

DY_KERNEL(GptqKernel, gptq_kernel)
