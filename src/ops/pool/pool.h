// What the pooling forms share.
#pragma once
#include "ops/composite.h"

namespace dyadic::inline v1::ops {

Tensor pooled_max(const char* who, int64_t rank, Args a);
Tensor pooled_mean(const char* who, int64_t rank, Args a);
Tensor pooled_power(const char* who, int64_t rank, Args a);
Tensor adaptive_mean(const char* who, int64_t rank, Args a);
Tensor adaptive_max(const char* who, int64_t rank, Args a);
// (values, indices) of a call (input, kernel_size, output_size, samples or None).
std::vector<Tensor> fractional_max(const char* who, int64_t rank, Args a);
Tensor unpooled(const char* who, int64_t rank, Args a);

}  // namespace dyadic::inline v1::ops
