// How far results are from what they should be.
#pragma once
#include "dyadic/ops.h"

namespace dyadic::testing {

// The largest difference, as a share of b's largest value.
inline double apart(const Tensor& a, const Tensor& b) { return double(amax(abs(a - b)).item()) / double(amax(abs(b)).item()); }

}  // namespace dyadic::testing
