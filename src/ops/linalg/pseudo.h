// What pinv, matrix_rank and lstsq share.
#pragma once
#include "ops/linalg/matrices.h"

namespace dyadic::inline v1::ops {

double default_rtol(const Tensor& a);  // max(m, n) eps of a's dtype
// -P^H g P^H + (I - A P) g^H P P^H + P^H P g^H (I - P A), P = pinv(A) (Golub and Pereyra 1973).
Tensor pseudo_gradient(const Tensor& a, const Tensor& p, const Tensor& g);

}  // namespace dyadic::inline v1::ops
