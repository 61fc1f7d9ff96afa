// What a sample or a batch is made of, tensor by tensor.
#pragma once
#include "base/parallel.h"
#include "dyadic/data.h"

namespace dyadic::inline v1::data {

// The value with f(t) for each of its tensors t, in order; objects of another language are unfolded where they hold such.
Value with_each_tensor(const Value& value, FunctionRef<Tensor(const Tensor&)> f);
Value brought(const Value& value, Device to);  // its tensors on a device

}  // namespace dyadic::inline v1::data
