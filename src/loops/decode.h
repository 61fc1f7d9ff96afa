// Reading scaled tensors.
#pragma once
#include "tensor/impl.h"

namespace dyadic::inline v1 {

// The values of a scaled tensor as f32. What the view touches of storage order is decoded densely and seen through the same
// strides, so that a transposed weight costs no more than a plain one. Charged to the current category; on meta only charged.
Tensor decode_scaled(const Tensor& t);

// Any tensor as plain values: row-major, in its compute type; `out` holds numel() of them.
void read_values(const Tensor& t, void* out);

}  // namespace dyadic::inline v1
