// What the normalizations share.
#pragma once
#include "ops/composite.h"
#include "ops/resize/resample.h"

namespace dyadic::inline v1::ops {

// A vector [C] seen as [1, C, 1 ...] of `dims` dimensions.
Tensor per_channel(const Tensor& v, int64_t dims);
// x [N, C, ...] with mean 0 and variance 1, times weight [C] plus bias [C] where they are given; statistics of each channel
// over the batch (groups 0) or of each of `groups` groups of a sample's channels. `statistics`, if asked for: mean and rstd.
Tensor normalized_channels(const char* who, const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias,
                           double eps, Tensor* statistics = nullptr);
// running = (1 - momentum) running + momentum value, in place.
void move_towards(const Tensor& running, const Tensor& value, double momentum);

}  // namespace dyadic::inline v1::ops
