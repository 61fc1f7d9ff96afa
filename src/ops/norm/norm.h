// What the normalizations share.
#pragma once
#include "ops/composite.h"
#include "ops/resize/resample.h"

namespace dyadic::inline v1::ops {

// A vector [C] seen as [1, C, 1 ...] of `dims` dimensions.
Tensor per_channel(const Tensor& v, int64_t dims);
// x as so many rows, each with mean 0 and variance 1, in x's shape.
Tensor normalized_rows(const Tensor& x, int64_t rows, double eps);
// x [N, C, ...] times weight [C] plus bias [C], where they are given.
Tensor scaled_channels(const char* who, const Tensor& x, const Tensor& weight, const Tensor& bias);
// running = (1 - momentum) running + momentum value, in place.
void move_towards(const Tensor& running, const Tensor& value, double momentum);

}  // namespace dyadic::inline v1::ops
