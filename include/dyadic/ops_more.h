// More ops as free functions, one line each, that programs need less often; their documentation is in their records.
#pragma once
#include "dyadic/ops.h"

namespace dyadic::inline v1 {

// clang-format off
// Windows and short-time Fourier transforms. periodic: the first window_length values of the symmetric window that is one longer.
inline Tensor bartlett_window(int64_t window_length, bool periodic = true, DType dtype = {}, Device device = cpu) { return call(Op::bartlett_window_, window_length, periodic, dtype, device); }
inline Tensor blackman_window(int64_t window_length, bool periodic = true, DType dtype = {}, Device device = cpu) { return call(Op::blackman_window_, window_length, periodic, dtype, device); }
inline Tensor hann_window(int64_t window_length, bool periodic = true, DType dtype = {}, Device device = cpu) { return call(Op::hann_window_, window_length, periodic, dtype, device); }
inline Tensor hamming_window(int64_t window_length, bool periodic = true, double alpha = 0.54, double beta = 0.46, DType dtype = {}, Device device = cpu) { return call(Op::hamming_window_, window_length, periodic, alpha, beta, dtype, device); }
inline Tensor kaiser_window(int64_t window_length, bool periodic = true, double beta = 12, DType dtype = {}, Device device = cpu) { return call(Op::kaiser_window_, window_length, periodic, beta, dtype, device); }
inline Tensor stft(const Tensor& self, int64_t n_fft, std::optional<int64_t> hop_length = {}, std::optional<int64_t> win_length = {}, const Tensor& window = {}, bool center = true, std::string_view pad_mode = "reflect", bool normalized = false, std::optional<bool> onesided = {}, std::optional<bool> return_complex = {}) { return call(Op::stft_, self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex); }
inline Tensor istft(const Tensor& self, int64_t n_fft, std::optional<int64_t> hop_length = {}, std::optional<int64_t> win_length = {}, const Tensor& window = {}, bool center = true, bool normalized = false, std::optional<bool> onesided = {}, std::optional<int64_t> length = {}, bool return_complex = false) { return call(Op::istft_, self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex); }

// mantissa 2^exponent, the mantissa in [0.5, 1) and signed.
DY_RESULTS2(Frexp, mantissa, exponent);
inline Frexp frexp(const Tensor& self) { auto r = call_all(Op::frexp_, self); return {r[0], r[1]}; }

// Of all elements, or along dimensions.
DY_RESULTS2(MinMax, min, max);
inline MinMax aminmax(const Tensor& self, std::optional<int64_t> dim = {}, bool keepdim = false) { auto r = call_all(Op::aminmax_, self, dim, keepdim); return {r[0], r[1]}; }
inline Tensor nanquantile(const Tensor& self, double q, std::optional<int64_t> dim = {}, bool keepdim = false, std::string_view interpolation = "linear") { return call(Op::nanquantile_value_, self, q, dim, keepdim, interpolation); }
inline Tensor nanquantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim = {}, bool keepdim = false, std::string_view interpolation = "linear") { return call(Op::nanquantile_, self, q, dim, keepdim, interpolation); }
inline std::vector<Tensor> std_mean(const Tensor& self, IntList dim = {}, int64_t correction = 1, bool keepdim = false) { return call_all(Op::std_mean_, self, dim, correction, keepdim); }
inline std::vector<Tensor> var_mean(const Tensor& self, IntList dim = {}, int64_t correction = 1, bool keepdim = false) { return call_all(Op::var_mean_, self, dim, correction, keepdim); }
inline Tensor nonzero_static(const Tensor& self, int64_t size, int64_t fill_value = -1) { return call(Op::nonzero_static_, self, size, fill_value); }

inline Tensor t(const Tensor& self) { return call(Op::t_, self); }
inline Tensor view_as(const Tensor& self, const Tensor& other) { return call(Op::view_as_, self, other); }
inline Tensor positive(const Tensor& self) { return call(Op::positive_, self); }
inline Tensor rsub(const Tensor& self, const Tensor& other, Scalar alpha = 1) { return call(Op::rsub_, self, other, alpha); }

// Linear algebra under its older names; linalg.h has the others.
inline Tensor inverse(const Tensor& self) { return call(Op::inverse_, self); }
inline Tensor pinverse(const Tensor& self, double rcond = 1e-15) { return call(Op::pinverse_, self, rcond); }
inline Tensor det(const Tensor& self) { return call(Op::det_, self); }
inline std::vector<Tensor> slogdet(const Tensor& self) { return call_all(Op::slogdet_, self); }
inline Tensor matrix_exp(const Tensor& self) { return call(Op::matrix_exp_, self); }
inline Tensor matrix_power(const Tensor& self, int64_t n) { return call(Op::matrix_power_, self, n); }
inline Tensor lu_solve(const Tensor& self, const Tensor& LU_data, const Tensor& LU_pivots) { return call(Op::lu_solve_, self, LU_data, LU_pivots); }
inline Tensor logdet(const Tensor& self) { return call(Op::logdet_, self); }
inline Tensor cholesky_inverse(const Tensor& self, bool upper = false) { return call(Op::cholesky_inverse_, self, upper); }
inline Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper = false) { return call(Op::cholesky_solve_, self, input2, upper); }
inline std::vector<Tensor> lu_unpack(const Tensor& LU_data, const Tensor& LU_pivots, bool unpack_data = true, bool unpack_pivots = true) { return call_all(Op::lu_unpack_, LU_data, LU_pivots, unpack_data, unpack_pivots); }

// scaled_dot_product_attention on packed queries, keys and values [B, T, 3, H, D]: [B, T, H, D].
inline Tensor packed_attention(const Tensor& qkv, bool is_causal = true) { return call(Op::packed_attention_, qkv, is_causal); }
// clang-format on

}  // namespace dyadic::inline v1
#include "dyadic/ops_more_methods.inc"  // generated
