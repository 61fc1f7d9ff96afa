// What compositions of other ops read their arguments with, and the small formulas that several of them share.
#pragma once
#include "ops/common.h"

namespace dyadic::inline v1::ops {

// A parameter with a value per dimension: one entry serves all. `out` holds n values.
void spread(const char* who, const char* name, IntList values, int64_t n, int64_t* out);

// A target of another shape broadcasts, which is seldom what was meant: [N] beside [N, 1] makes [N, N].
void warn_of_broadcast(const char* who, const Tensor& input, const Tensor& target);
// mean, sum or none of a loss per element.
Tensor reduced(const char* who, const Tensor& loss, std::string_view reduction);
// value, whose gradient for the x it was made of is 0.
Tensor constant_in(const Tensor& value, const Tensor& x);
Tensor at_least_zero(const Tensor& x);  // max(x, 0)
Tensor softplus_of(const Tensor& x);    // log(1 + exp(x)) without overflow
// Areas between neighbours along dim, of a call (y, x or None, dx, dim); `dim` is wrapped.
Tensor trapezoids(const char* who, Args a, int64_t& dim);
// values[i] of a vector by class number, as large as indices.
Tensor lookup(const Tensor& values, const Tensor& indices);

}  // namespace dyadic::inline v1::ops
