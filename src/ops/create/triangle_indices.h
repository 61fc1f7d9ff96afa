// What tril_indices and triu_indices share.
#pragma once
#include "ops/common.h"

namespace dyadic::inline v1::ops {

// Of a call (row, col, offset, dtype, device): the places on one side of a diagonal, [2, n], row by row.
Tensor triangle_indices(const char* who, Args a, bool lower);

}  // namespace dyadic::inline v1::ops
