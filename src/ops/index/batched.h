// What vmap makes of ops whose index is the same along the other dimensions: one with an index more, the number of the entry.
#pragma once
#include "corridor/batching.h"
#include "ops/index/indexed.h"

namespace dyadic::inline v1::ops {

// index(self, indices, dims) and index_write(self, values, indices, dims, accumulate) of all entries.
bool batched_read(BatchedCall& b, const IndexedDims& d, std::span<const Tensor> indices);
bool batched_write(BatchedCall& b, const IndexedDims& d, std::span<const Tensor> indices, const Tensor& values,
                   bool accumulate);
// op(self, dim, index ...) with an index of one dimension.
bool batched_select(BatchedCall& b);
bool batched_along(BatchedCall& b, bool accumulate);  // (..., source)
bool batched_fill(BatchedCall& b);                    // (..., value)

}  // namespace dyadic::inline v1::ops
