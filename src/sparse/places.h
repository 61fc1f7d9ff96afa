// Places of elements as numbers.
#pragma once
#include "dyadic/sparse.h"

namespace dyadic::inline v1::sparse {

// indices [dims, nnz] of a tensor of these sizes as places in a row: [nnz].
Tensor flat_places(const Tensor& indices, IntList sizes);
// The row of each element, from where rows begin; and back, of n rows.
Tensor rows_of(const Tensor& crow);
Tensor row_starts(const Tensor& rows, int64_t n);
// As coo has them: [dims, nnz].
Tensor indices_of(const SparseTensor& s);

}  // namespace dyadic::inline v1::sparse
