// Rotations that spread what is in a few of a vector's numbers over many, so that no number is much larger than the others: a
// scale that several share then fits all of them (Ashkboos et al. 2024, "QuaRot", arXiv:2404.00456).
#pragma once
#include "dyadic/tensor.h"

namespace dyadic::inline v1::models {

// x [..., n] times the orthogonal Hadamard matrix of n (Sylvester's, over sqrt(n)); where n is no power of two, each run of its
// largest divisor that is one by itself. The matrix is symmetric, so that twice gives x again; scores of two that are both
// rotated are what they were. In x's dtype, computed in f32 or f64.
Tensor rotated(const Tensor& x);

}  // namespace dyadic::inline v1::models
