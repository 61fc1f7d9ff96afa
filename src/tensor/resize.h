// Tensors that become another view: of other memory, or of more of it.
#pragma once
#include "tensor/impl.h"

namespace dyadic::inline v1 {

// t becomes contiguous with these sizes. It keeps its storage where that is large enough; else it gets a new one that begins
// with what the old one holds. Other views of the old storage stay there.
void resize(const char* who, const Tensor& t, IntList sizes);
// resize for a tensor that takes a result: nothing where it fits already, a warning where it holds elements of another shape.
void resize_result(const char* who, const Tensor& t, IntList sizes);
// t becomes a view as `source` is: same storage, dtype, sizes and strides. Its place in the tape and its flags stay.
void become_view(const Tensor& t, const Tensor& source);

}  // namespace dyadic::inline v1
