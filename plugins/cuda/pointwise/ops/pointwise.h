// What op files of src/ops/pointwise include when they are compiled for a GPU: a PointwiseOp is here nothing but a type, which
// names the types of the op's lambdas, as kernels are templates of a name for it (kernels.h).
#pragma once
#include "plugins/cuda/pointwise/kernels.h"

// After op file `name`.cpp.
#define DY_CUDA_OP(name)                                    \
  namespace dyadic::gpu {                                   \
  struct name##_tag {                                       \
    using Op = std::remove_cv_t<decltype(name##_op)>;       \
  };                                                        \
  static const OpKernels<name##_tag> name##_kernels{#name}; \
  }
