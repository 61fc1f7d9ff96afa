// A scan of many is one of as many more rows.
#pragma once
#include "corridor/batching.h"

namespace dyadic::inline v1::ops {

bool batched_scan(BatchedCall& b, uint16_t shared);  // shared: its weights

}  // namespace dyadic::inline v1::ops
