// quantile and nanquantile are one composition.
#pragma once
#include "ops/common.h"

namespace dyadic::inline v1::ops {

Tensor quantile_of(const char* who, const Tensor& self, const Tensor& q, const Arg& dim, bool keepdim,
                   std::string_view interpolation, bool ignore_nan);

}  // namespace dyadic::inline v1::ops
