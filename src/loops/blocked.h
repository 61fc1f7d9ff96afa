// Reading and writing tensors of any dtype as a whole, blocked ones (scaled or packed) among them.
#pragma once
#include "tensor/impl.h"

namespace dyadic::inline v1 {

// The values of a blocked tensor in its compute type. What the view touches of storage order is decoded densely and seen
// through the same strides, so that a transposed weight costs no more than a plain one. Charged to the current category; on
// meta only charged.
Tensor decode_blocked(const Tensor& t);

// Any tensor as plain values: row-major, in its compute type; `out` holds numel() of them.
void read_values(const Tensor& t, void* out);

// dst = src, broadcast and converted, whatever their formats; each value is rounded once. Scaled tensors are written whole; a
// part of a packed one is written by way of the whole.
void assign(const Tensor& dst, const Tensor& src, const Round& round = {});

}  // namespace dyadic::inline v1
