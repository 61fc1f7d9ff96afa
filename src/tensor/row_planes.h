// The bytes of a tensor row by row, where each row is encoded by itself: rows can then be written one at a time, whatever the
// format.
#pragma once
#include <vector>

#include "dyadic/tensor.h"

namespace dyadic::inline v1 {

// Whether a row of so many elements is the same bytes wherever it stands: no scale covers several rows, none is a part of a row
// short, no byte belongs to two. True of plain dtypes.
bool rows_stand_alone(DType format, int64_t cols);
// A tensor that is the whole of its storage, [..., cols]: its planes as bytes, u8 [..., bytes of a row] each, over the same
// memory; of a plain dtype the tensor itself.
std::vector<Tensor> row_planes(const Tensor& t);

}  // namespace dyadic::inline v1
