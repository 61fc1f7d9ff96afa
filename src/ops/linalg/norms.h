// What the norms of linalg share: orders are numbers or names, dimensions absent or one or two.
#pragma once
#include "ops/linalg/matrices.h"

namespace dyadic::inline v1::ops {

Tensor matrix_norm(const char* who, const Tensor& t, double ord, IntList dim, bool keepdim);  // 1, -1, 2, -2, inf, -inf
Tensor matrix_norm(const char* who, const Tensor& t, std::string_view ord, IntList dim, bool keepdim);  // fro, nuc
Tensor in_dtype(const Tensor& t, const Arg& dtype);

}  // namespace dyadic::inline v1::ops
