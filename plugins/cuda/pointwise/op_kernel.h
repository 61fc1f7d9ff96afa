// A pointwise op's or gradient's kernels, by what it is computed in.
#pragma once
#include "corridor/op_def.h"
#include "plugins/cuda/pointwise/work.h"

namespace dyadic::gpu {

using Launched = void (*)(Work);
struct OpKernel {
  Launched elements[kComputes]{};  // a thread an element, however it lies; null: not defined there
  Launched runs[kComputes]{};      // a thread a run; null: not worth one
  int inputs = 0, params = 0;
  unsigned used = 0;  // bit k: input k is read
};
void plan_pointwise(Call& c, const OpKernel& kernel);  // ops/pointwise.cu
void add_pointwise(const char* op, const Kernel& kernel, int gradient);

}  // namespace dyadic::gpu
