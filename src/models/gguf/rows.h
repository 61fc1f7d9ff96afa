// Whole rows of tensors, moved about: of scaled formats too, whose rows are blocks of bytes that are not to be cut.
#pragma once
#include <vector>

#include "dyadic/ops.h"

namespace dyadic::inline v1::models {

// Whether rows of so many columns have scales of their own; else they cannot be moved apart from the others.
bool rows_move(DType dtype, int64_t columns);
// Whether they can change places within one tensor: what is of all of its rows stays.
bool rows_move_within(DType dtype, int64_t columns);
// [..., n] bytes for [..., cols] elements; plain tensors are given as they are.
Tensor rows_of(const Tensor& t);
// What such rows are in the dtype of `like`, of which they come: [..., cols].
Tensor from_rows(const Tensor& rows, const Tensor& like);

// Llama's queries and keys (or their biases) [heads * d, ...]: in Hugging Face's files the two halves of a head turn together,
// in GGUF a row and its successor do.
Tensor interleave_halves(const Tensor& t, int64_t heads);
Tensor part_halves(const Tensor& t, int64_t heads);

// An nvfp4 tensor's scale of the whole, and the tensor with another one.
float whole_scale(const Tensor& t);
Tensor with_whole_scale(const Tensor& t, float scale);

Tensor stack_rows(const std::vector<Tensor>& all);                    // of one shape and dtype: [n, ...]
Tensor in_turns(const Tensor& even, const Tensor& odd, int64_t dim);  // twice as long in dim
Tensor every_second(const Tensor& t, int64_t dim, int64_t first);

}  // namespace dyadic::inline v1::models
