// A parameter's memory, replaced.
#pragma once
#include "dyadic/tensor.h"

namespace dyadic::inline v1::nn {

// The tensor stays, whoever holds it (an optimizer, a tied module); its memory and dtype become those of `value`, of the same
// shape. Scaled formats take no gradient.
void store(Tensor t, const Tensor& value);

}  // namespace dyadic::inline v1::nn
