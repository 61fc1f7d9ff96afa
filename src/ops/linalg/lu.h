// What the ops around LU factors share.
#pragma once
#include "ops/linalg/matrices.h"

namespace dyadic::inline v1::ops {

double lu_flops(const Tensor& a);
// LinAlgError for a zero on U's diagonal.
void check_factors(const char* who, const Array& info, const Operand& a);
void check_factors(const char* who, const Tensor& info, const Tensor& a);
// The gradient of A from those of L (below its diagonal) and U.
Tensor lu_gradient(const Tensor& lu, const Tensor& pivots, const Tensor& gl, const Tensor& gu);
Tensor unit_lower(const Tensor& lu);  // L [..., m, min(m, n)] of the factors in one matrix
Tensor upper(const Tensor& lu);       // U [..., min(m, n), n]
// P of P^T A = L U as positions: row i of L U is row order[i] of A. [..., m]
Tensor row_order(const Tensor& pivots, int64_t m);
// Pivots are int32 as LAPACK has them, int64 as well; one of them, checked to be in 1 ... m.
void check_pivots(const char* who, const Tensor& t, const char* name);
int64_t pivot_at(const char* who, const Array& dense_pivots, int64_t i, int64_t m);
Tensor permutation(const Tensor& order, DType dtype);  // P [..., m, m] with A = P (L U)
// Rows of t [..., m, n] in that order, or put back.
Tensor permute_rows(const Tensor& t, const Tensor& order);

}  // namespace dyadic::inline v1::ops
