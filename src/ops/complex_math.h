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
Tensor complex_logsumexp(const Arg*);
Tensor complex_any(const Arg*);
Tensor complex_all(const Arg*);
// (self, other); (input, weight, bias).
Tensor complex_linear(const Arg*);
Tensor complex_pow(const Arg*);
Tensor complex_ldexp(const Arg*);
Tensor complex_logaddexp(const Arg*);
Tensor complex_logical_and(const Arg*);
Tensor complex_logical_or(const Arg*);
Tensor complex_logical_xor(const Arg*);
Tensor complex_nan_to_num(const Arg*);  // (self, nan, posinf, neginf)
// (self).
Tensor complex_exp(const Arg*);
Tensor complex_exp2(const Arg*);
Tensor complex_isreal(const Arg*);
Tensor complex_silu(const Arg*);
Tensor complex_sinc(const Arg*);
Tensor complex_softsign(const Arg*);
Tensor complex_tanhshrink(const Arg*);
Tensor complex_sqrt(const Arg*);
Tensor complex_rsqrt(const Arg*);
Tensor complex_logical_not(const Arg*);
Tensor complex_log(const Arg*);
Tensor complex_log1p(const Arg*);
Tensor complex_log2(const Arg*);
Tensor complex_log10(const Arg*);
Tensor complex_expm1(const Arg*);
Tensor complex_sin(const Arg*);
Tensor complex_cos(const Arg*);
Tensor complex_tan(const Arg*);
Tensor complex_sinh(const Arg*);
Tensor complex_cosh(const Arg*);
Tensor complex_tanh(const Arg*);
Tensor complex_asin(const Arg*);
Tensor complex_acos(const Arg*);
Tensor complex_atan(const Arg*);
Tensor complex_asinh(const Arg*);
Tensor complex_acosh(const Arg*);
Tensor complex_atanh(const Arg*);
Tensor complex_sigmoid(const Arg*);
Tensor complex_sign(const Arg*);

}  // namespace dyadic::inline v1
