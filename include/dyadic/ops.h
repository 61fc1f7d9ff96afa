// The ops as free functions, one line each; their documentation is in their records (src/ops/<family>/<op>.cpp,
// `help(dyadic.exp)`).
#pragma once
#include "dyadic/call.h"

namespace dyadic::inline v1 {

// clang-format off
#define DY_UNARY(name) inline Tensor name(const Tensor& self) { return call(Op::name##_, self); }
DY_UNARY(neg) DY_UNARY(abs) DY_UNARY(square) DY_UNARY(exp) DY_UNARY(expm1) DY_UNARY(log) DY_UNARY(log1p) DY_UNARY(sqrt) DY_UNARY(rsqrt)
DY_UNARY(reciprocal) DY_UNARY(sin) DY_UNARY(cos) DY_UNARY(tanh) DY_UNARY(sigmoid) DY_UNARY(erf) DY_UNARY(erfc) DY_UNARY(relu) DY_UNARY(silu)
DY_UNARY(gelu) DY_UNARY(gelu_tanh) DY_UNARY(floor) DY_UNARY(ceil) DY_UNARY(trunc) DY_UNARY(round)
DY_UNARY(isnan) DY_UNARY(isinf) DY_UNARY(isfinite) DY_UNARY(logical_not)

// Complex numbers; view_as_real and view_as_complex, real and imag are views.
inline Tensor complex(const Tensor& real, const Tensor& imag) { return call(Op::complex_, real, imag); }
inline Tensor polar(const Tensor& abs, const Tensor& angle) { return call(Op::polar_, abs, angle); }
DY_UNARY(real) DY_UNARY(imag) DY_UNARY(conj) DY_UNARY(conj_physical) DY_UNARY(view_as_real) DY_UNARY(view_as_complex)
#undef DY_UNARY

// A number as an operand: a 0-d tensor that does not take part in promotion beyond its kind.
Tensor scalar_tensor(Scalar value);
#define DY_BINARY(name)                                                                                                  \
  inline Tensor name(const Tensor& self, const Tensor& other) { return call(Op::name##_, self, other); }                 \
  inline Tensor name(const Tensor& self, Scalar other) { return call(Op::name##_, self, scalar_tensor(other)); }         \
  inline Tensor name(Scalar self, const Tensor& other) { return call(Op::name##_, scalar_tensor(self), other); }
DY_BINARY(add) DY_BINARY(sub) DY_BINARY(mul) DY_BINARY(div) DY_BINARY(pow) DY_BINARY(maximum) DY_BINARY(minimum)
DY_BINARY(eq) DY_BINARY(ne) DY_BINARY(lt) DY_BINARY(le) DY_BINARY(gt) DY_BINARY(ge) DY_BINARY(logical_and) DY_BINARY(logical_or)
#undef DY_BINARY
inline Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other) { return call(Op::where_, condition, self, other); }
inline Tensor clamp(const Tensor& self, Scalar min, Scalar max) { return call(Op::clamp_, self, min, max); }
inline Tensor leaky_relu(const Tensor& self, Scalar negative_slope = 0.01) { return call(Op::leaky_relu_, self, negative_slope); }
inline Tensor lerp(const Tensor& self, const Tensor& end, Scalar weight) { return call(Op::lerp_, self, end, weight); }

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator+(const Tensor& a, Scalar b) { return add(a, b); }
inline Tensor operator+(Scalar a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator-(const Tensor& a, Scalar b) { return sub(a, b); }
inline Tensor operator-(Scalar a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator*(const Tensor& a, Scalar b) { return mul(a, b); }
inline Tensor operator*(Scalar a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator/(const Tensor& a, Scalar b) { return div(a, b); }
inline Tensor operator/(Scalar a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& a) { return neg(a); }

// Reductions. An empty `dim` means all dimensions.
inline Tensor sum(const Tensor& self, IntList dim = {}, bool keepdim = false) { return call(Op::sum_, self, dim, keepdim); }
inline Tensor mean(const Tensor& self, IntList dim = {}, bool keepdim = false) { return call(Op::mean_, self, dim, keepdim); }
inline Tensor amax(const Tensor& self, IntList dim = {}, bool keepdim = false) { return call(Op::amax_, self, dim, keepdim); }
inline Tensor amin(const Tensor& self, IntList dim = {}, bool keepdim = false) { return call(Op::amin_, self, dim, keepdim); }
inline Tensor prod(const Tensor& self, IntList dim = {}, bool keepdim = false) { return call(Op::prod_, self, dim, keepdim); }
inline Tensor any(const Tensor& self, IntList dim = {}, bool keepdim = false) { return call(Op::any_, self, dim, keepdim); }
inline Tensor all(const Tensor& self, IntList dim = {}, bool keepdim = false) { return call(Op::all_, self, dim, keepdim); }
inline Tensor argmax(const Tensor& self, std::optional<int64_t> dim = {}, bool keepdim = false) { return call(Op::argmax_, self, dim, keepdim); }
inline Tensor argmin(const Tensor& self, std::optional<int64_t> dim = {}, bool keepdim = false) { return call(Op::argmin_, self, dim, keepdim); }
inline Tensor var(const Tensor& self, IntList dim = {}, int64_t correction = 1, bool keepdim = false) { return call(Op::var_, self, dim, correction, keepdim); }
inline Tensor std(const Tensor& self, IntList dim = {}, int64_t correction = 1, bool keepdim = false) { return call(Op::std_, self, dim, correction, keepdim); }
inline Tensor logsumexp(const Tensor& self, IntList dim, bool keepdim = false) { return call(Op::logsumexp_, self, dim, keepdim); }

// Shapes. Views share storage; reshape and contiguous copy only when they must.
inline Tensor view(const Tensor& self, IntList size) { return call(Op::view_, self, size); }
inline Tensor reshape(const Tensor& self, IntList shape) { return call(Op::reshape_, self, shape); }
inline Tensor flatten(const Tensor& self, int64_t start_dim = 0, int64_t end_dim = -1) { return call(Op::flatten_, self, start_dim, end_dim); }
inline Tensor permute(const Tensor& self, IntList dims) { return call(Op::permute_, self, dims); }
inline Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) { return call(Op::transpose_, self, dim0, dim1); }
inline Tensor expand(const Tensor& self, IntList size) { return call(Op::expand_, self, size); }
inline Tensor squeeze(const Tensor& self, std::optional<int64_t> dim = {}) { return call(Op::squeeze_, self, dim); }
inline Tensor unsqueeze(const Tensor& self, int64_t dim) { return call(Op::unsqueeze_, self, dim); }
inline Tensor slice(const Tensor& self, int64_t dim = 0, std::optional<int64_t> start = {}, std::optional<int64_t> end = {}, int64_t step = 1) { return call(Op::slice_, self, dim, start, end, step); }
inline Tensor select(const Tensor& self, int64_t dim, int64_t index) { return call(Op::select_, self, dim, index); }
inline Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) { return call(Op::narrow_, self, dim, start, length); }
inline Tensor contiguous(const Tensor& self) { return call(Op::contiguous_, self); }
inline Tensor clone(const Tensor& self) { return call(Op::clone_, self); }
inline Tensor detach(const Tensor& self) { return call(Op::detach_, self); }
inline Tensor cat(std::span<const Tensor> tensors, int64_t dim = 0) { return call(Op::cat_, tensors, dim); }
inline Tensor stack(std::span<const Tensor> tensors, int64_t dim = 0) { return call(Op::stack_, tensors, dim); }
std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim = 0);
std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim = 0);
inline Tensor tril(const Tensor& self, int64_t diagonal = 0) { return call(Op::tril_, self, diagonal); }
inline Tensor triu(const Tensor& self, int64_t diagonal = 0) { return call(Op::triu_, self, diagonal); }
inline Tensor to(const Tensor& self, DType dtype) { return self.dtype() == dtype ? self : call(Op::to_, self, dtype); }
inline Tensor cast(const Tensor& self, DType dtype, std::string_view rounding = "nearest", std::string_view overflow = "standard") { return call(Op::cast_, self, dtype, rounding, overflow); }
inline Tensor round_to(const Tensor& self, std::string_view precision) { return call(Op::round_to_, self, precision); }

// Creation. The default dtype is float32 (arange of integers: int64).
inline Tensor empty(IntList size, DType dtype = {}, Device device = cpu) { return call(Op::empty_, size, dtype, device); }
inline Tensor zeros(IntList size, DType dtype = {}, Device device = cpu) { return call(Op::zeros_, size, dtype, device); }
inline Tensor ones(IntList size, DType dtype = {}, Device device = cpu) { return call(Op::ones_, size, dtype, device); }
inline Tensor full(IntList size, Scalar fill_value, DType dtype = {}, Device device = cpu) { return call(Op::full_, size, fill_value, dtype, device); }
inline Tensor arange(Scalar start, Scalar end, Scalar step = 1, DType dtype = {}, Device device = cpu) { return call(Op::arange_, start, end, step, dtype, device); }
inline Tensor linspace(Scalar start, Scalar end, int64_t steps, DType dtype = {}, Device device = cpu) { return call(Op::linspace_, start, end, steps, dtype, device); }
inline Tensor eye(int64_t n, std::optional<int64_t> m = {}, DType dtype = {}, Device device = cpu) { return call(Op::eye_, n, m, dtype, device); }
inline Tensor zeros_like(const Tensor& self, DType dtype = {}) { return call(Op::zeros_like_, self, dtype); }
inline Tensor ones_like(const Tensor& self, DType dtype = {}) { return call(Op::ones_like_, self, dtype); }
inline Tensor full_like(const Tensor& self, Scalar fill_value, DType dtype = {}) { return call(Op::full_like_, self, fill_value, dtype); }
Tensor tensor(std::initializer_list<double> values, DType dtype = f32);
Tensor from_data(const void* data, IntList size, DType dtype);  // copies dense row-major elements of a plain dtype

// Random numbers: counter-based (Philox 4x32-10), keyed by the generator's seed and the number of the call.
void manual_seed(uint64_t seed);
struct GeneratorState { uint64_t seed = 0, calls = 0; };
GeneratorState generator_state();
void set_generator_state(GeneratorState state);
inline Tensor rand(IntList size, DType dtype = {}, Device device = cpu) { return call(Op::rand_, size, dtype, device); }
inline Tensor randn(IntList size, DType dtype = {}, Device device = cpu) { return call(Op::randn_, size, dtype, device); }
inline Tensor randint(int64_t low, int64_t high, IntList size, DType dtype = {}, Device device = cpu) { return call(Op::randint_, low, high, size, dtype, device); }
inline Tensor dropout(const Tensor& self, double p = 0.5, bool training = true) { return call(Op::dropout_, self, p, training); }

// Linear algebra and networks.
inline Tensor matmul(const Tensor& self, const Tensor& other) { return call(Op::matmul_, self, other); }
inline Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {}) { return call(Op::linear_, input, weight, bias); }
inline Tensor softmax(const Tensor& self, int64_t dim = -1) { return call(Op::softmax_, self, dim); }
inline Tensor log_softmax(const Tensor& self, int64_t dim = -1) { return call(Op::log_softmax_, self, dim); }
inline Tensor layer_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5) { return call(Op::layer_norm_, input, normalized_shape, weight, bias, eps); }
inline Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx = -1) { return call(Op::embedding_, weight, indices, padding_idx); }
inline Tensor cross_entropy(const Tensor& input, const Tensor& target, std::string_view reduction = "mean", int64_t ignore_index = -100) { return call(Op::cross_entropy_, input, target, Tensor(), ignore_index, reduction, 0.0); }
inline Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, bool is_causal = false, std::optional<double> scale = {}) { return call(Op::scaled_dot_product_attention_, query, key, value, is_causal, scale); }
// clang-format on

}  // namespace dyadic::inline v1
