// The bytes behind a tensor: its codes and scales by name, and one dtype's bytes seen as another's.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "dyadic/tensor.h"

namespace dyadic::inline v1 {

// What a tensor's storage is made of, in the order it is saved: "codes", "scales", "zeros", "absmax", "blocks" ... Each plane
// is a 1-d tensor over the same memory, of the dtype it is saved as. A plain tensor has one plane, its "values". ValueError for
// a view that is not the whole of its storage.
std::vector<std::pair<std::string, Tensor>> planes(const Tensor& t);

// The same bytes as another dtype, without gradient. Between plain dtypes as PyTorch's Tensor.view(dtype): the last dimension
// grows or shrinks with the size of an element. uint8 [..., n] becomes a dtype that is one plane of bytes (packed ones, the
// block formats of GGUF) where n is whole blocks, and back. ValueError where bytes do not fit.
Tensor view_as(const Tensor& t, DType dtype);

}  // namespace dyadic::inline v1
