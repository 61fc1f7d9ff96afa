#include "quant/gptq_kernel.h"

#include "base/simd/simd.h"

namespace dyadic::DY_ISA {
namespace {

float nearest(float x, const float* level, int64_t levels, bool uniform) {
  const float clamped = x > 1 ? 1 : x > 0 ? x : 0;
  if (uniform) {
    const float steps = float(levels - 1), shifted = clamped * steps + 0x1.8p23f;
    return (shifted - 0x1.8p23f) / steps;
  }
  int64_t low = 0, high = levels - 1;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (level[middle] <= clamped ? low : high) = middle;
  }
  return clamped - level[low] <= level[high] - clamped ? level[low] : level[high];
}

void round_row(float* w, float* errors, const float* u, int64_t width, const float* scale, const float* offset,
               const float* level, int64_t levels, bool uniform) {
  for (int64_t j = 0; j < width; ++j, u += width) {
    float x = w[j], rounded = offset[j];
    if (scale[j] != 0) rounded += scale[j] * nearest((x - offset[j]) / scale[j], level, levels, uniform);
    const float e = (x - rounded) / u[j];
    errors[j] = e;
    w[j] = rounded;
    for (int64_t k = j + 1; k < width; ++k) w[k] -= e * u[k];
  }
}

}  // namespace

extern constexpr GptqKernel gptq_kernel = {round_row};

}  // namespace dyadic::DY_ISA
