// What ops are of complex numbers, in ops on their real and imaginary parts: for OpDef::complex. Formulas and branch cuts are
// those of C99, Annex G.
#pragma once

namespace dyadic::inline v1 {

class Tensor;
class Args;

// (self, dim, keepdim) and its like.
Tensor complex_sum(Args);
Tensor complex_mean(Args);
Tensor complex_prod(Args);
Tensor complex_logsumexp(Args);
Tensor complex_any(Args);
Tensor complex_all(Args);
// (self, other); (input, weight, bias).
Tensor complex_linear(Args);
Tensor complex_pow(Args);
Tensor complex_ldexp(Args);
Tensor complex_logaddexp(Args);
Tensor complex_logical_and(Args);
Tensor complex_logical_or(Args);
Tensor complex_logical_xor(Args);
Tensor complex_nan_to_num(Args);  // (self, nan, posinf, neginf)
// (self).
Tensor complex_exp(Args);
Tensor complex_exp2(Args);
Tensor complex_isreal(Args);
Tensor complex_silu(Args);
Tensor complex_sinc(Args);
Tensor complex_softsign(Args);
Tensor complex_tanhshrink(Args);
Tensor complex_sqrt(Args);
Tensor complex_rsqrt(Args);
Tensor complex_logical_not(Args);
Tensor complex_log(Args);
Tensor complex_log1p(Args);
Tensor complex_log2(Args);
Tensor complex_log10(Args);
Tensor complex_expm1(Args);
Tensor complex_sin(Args);
Tensor complex_cos(Args);
Tensor complex_tan(Args);
Tensor complex_sinh(Args);
Tensor complex_cosh(Args);
Tensor complex_tanh(Args);
Tensor complex_asin(Args);
Tensor complex_acos(Args);
Tensor complex_atan(Args);
Tensor complex_asinh(Args);
Tensor complex_acosh(Args);
Tensor complex_atanh(Args);
Tensor complex_sigmoid(Args);
Tensor complex_sign(Args);

}  // namespace dyadic::inline v1
