// What a device has no kernel for, by way of the host: operands are copied there, the call runs, its results are copied back.
#pragma once
#include "corridor/call.h"

namespace dyadic::inline v1 {

// An Error that names the op, unless a CpuFallback lives.
void execute_by_host(Call& c, bool allocate);

}  // namespace dyadic::inline v1
