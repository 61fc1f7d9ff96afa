// What a device has no kernel for, by way of the host: operands are copied there, the call runs, its results are copied back.
#pragma once
#include "corridor/call.h"

namespace dyadic::inline v1 {

bool goes_by_host();  // whether a CpuFallback lives
// An Error that names the op, unless one does.
void execute_by_host(Call& c, bool allocate);

}  // namespace dyadic::inline v1
