// What ops are of complex numbers, in ops on their real and imaginary parts: for OpDef::complex. Formulas and branch cuts are
// those of C99, Annex G.
#pragma once

namespace dyadic::inline v1 {

class Tensor;
struct Arg;

// (self, dim, keepdim) and its like.
Tensor complex_sum(const Arg*);
Tensor complex_mean(const Arg*);
Tensor complex_prod(const Arg*);
Tensor complex_any(const Arg*);
Tensor complex_all(const Arg*);
// (self, other); (input, weight, bias).
Tensor complex_matmul(const Arg*);
Tensor complex_linear(const Arg*);
Tensor complex_pow(const Arg*);
// (self).
Tensor complex_exp(const Arg*);
Tensor complex_sqrt(const Arg*);
Tensor complex_rsqrt(const Arg*);
Tensor complex_logical_not(const Arg*);

}  // namespace dyadic::inline v1
