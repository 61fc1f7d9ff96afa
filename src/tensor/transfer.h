// Tensors between devices: bytes, moved as they lie. Without history: to(device) is the op.
#pragma once
#include "tensor/impl.h"

namespace dyadic::inline v1 {

// A new tensor on `to` with the bytes of `t`, which is contiguous, or of a blocked dtype, of which the whole storage goes; `t`
// itself if it is there.
Tensor moved(const Tensor& t, Device to);
// The bytes of `source` to where `target` lies: both contiguous, of one dtype and size (blocked ones: whole, of one geometry).
void move_bytes(const Tensor& target, const Tensor& source);

// All of a tensor's storage as a row of a plain dtype, over the same memory.
Tensor storage_row(const Tensor& t, DType dtype);

}  // namespace dyadic::inline v1
