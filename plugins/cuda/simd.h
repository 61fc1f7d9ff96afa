// The vectors of base/simd and their functions (exp, erf, sin ...) in kernels: a thread is one lane. On the include path
// plugins/cuda/pointwise gives the one lane in Highway's place.
#pragma once
#ifndef DY_ISA
#define DY_ISA gpu
#endif
#define DY_ISA_cuda 1
#include "base/simd/simd.h"
