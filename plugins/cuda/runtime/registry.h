// The kernels of the plug-in by the names of their ops.
#pragma once
#include "corridor/op_def.h"

namespace dyadic::gpu {

const Kernel* find_kernel(const char* op, int gradient);  // null: there is none

}  // namespace dyadic::gpu
