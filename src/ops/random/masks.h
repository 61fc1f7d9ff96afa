// What the forms of dropout share: one draw per entry of the leading dimensions.
#pragma once
#include "ops/composite.h"

namespace dyadic::inline v1::ops {

// dropout1d, 2d and 3d: channels before `rank` spatial dimensions, of op(input, p, training).
Tensor channel_dropout(const char* who, int64_t rank, Args args);
// x with entries of its first `dims` dimensions zeroed with probability p, the others scaled by 1 / (1 - p).
Tensor masked_channels(const char* who, const Tensor& x, double p, int64_t dims);
// The same towards SELU's lower limit, mean and variance kept. (Klambauer et al. 2017, section 4.)
Tensor alpha_masked(const char* who, const Tensor& x, double p, int64_t dims);
// What is left with probability 1: NaNs stay. Integers, of which there is no share, get so far.
Tensor zeroed(const Tensor& x);

}  // namespace dyadic::inline v1::ops
