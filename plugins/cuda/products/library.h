// cuBLASLt, where the machine has it: found when first asked for, never linked. What it cannot do, or fails to do, kernels of
// our own do with a result of the same class.
#pragma once
#include "plugins/cuda/products/gemm.h"

namespace dyadic::gpu {

int64_t library_workspace(const Gemm& g);                     // bytes; -1: not a product for it, or it is not there
bool library_product(const Gemm& g, const GemmPointers& at);  // false: nothing has been written that stays
const char* library_version();                                // "13.0.2", empty: none

}  // namespace dyadic::gpu
