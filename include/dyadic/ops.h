// The ops as free functions, one line each; their documentation is in their records (src/ops/<family>/<op>.cpp,
// `help(dyadic.exp)`). Those that begin with `self` are methods of Tensor too (tools/make_methods.py).
#pragma once
#include "dyadic/call.h"

namespace dyadic::inline v1 {

// clang-format off
#define DY_UNARY(name) inline Tensor name(const Tensor& self) { return call(Op::name##_, self); }
DY_UNARY(neg) DY_UNARY(abs) DY_UNARY(square) DY_UNARY(exp) DY_UNARY(expm1) DY_UNARY(log) DY_UNARY(log1p) DY_UNARY(sqrt) DY_UNARY(rsqrt)
DY_UNARY(reciprocal) DY_UNARY(sin) DY_UNARY(cos) DY_UNARY(tanh) DY_UNARY(sigmoid) DY_UNARY(erf) DY_UNARY(erfc) DY_UNARY(relu) DY_UNARY(silu)
DY_UNARY(gelu) DY_UNARY(gelu_tanh) DY_UNARY(floor) DY_UNARY(ceil) DY_UNARY(trunc) DY_UNARY(round)
DY_UNARY(isnan) DY_UNARY(isinf) DY_UNARY(isfinite) DY_UNARY(logical_not)
DY_UNARY(tan) DY_UNARY(asin) DY_UNARY(acos) DY_UNARY(atan) DY_UNARY(sinh) DY_UNARY(cosh) DY_UNARY(asinh) DY_UNARY(acosh)
DY_UNARY(atanh) DY_UNARY(exp2) DY_UNARY(log2) DY_UNARY(log10) DY_UNARY(lgamma) DY_UNARY(digamma) DY_UNARY(i0) DY_UNARY(i0e)
DY_UNARY(i1) DY_UNARY(i1e) DY_UNARY(erfinv) DY_UNARY(ndtr) DY_UNARY(log_ndtr) DY_UNARY(ndtri) DY_UNARY(erfcx) DY_UNARY(entr)
DY_UNARY(sinc) DY_UNARY(logit) DY_UNARY(sign) DY_UNARY(frac) DY_UNARY(deg2rad) DY_UNARY(rad2deg) DY_UNARY(signbit)
DY_UNARY(isposinf) DY_UNARY(isneginf) DY_UNARY(isreal) DY_UNARY(bessel_j0) DY_UNARY(bessel_j1) DY_UNARY(bessel_y0)
DY_UNARY(bessel_y1) DY_UNARY(selu) DY_UNARY(hardsigmoid) DY_UNARY(hardswish) DY_UNARY(mish) DY_UNARY(logsigmoid)
DY_UNARY(softsign) DY_UNARY(tanhshrink) DY_UNARY(relu6) DY_UNARY(bitwise_not)

// Complex numbers; view_as_real and view_as_complex, real and imag are views.
inline Tensor complex(const Tensor& real, const Tensor& imag) { return call(Op::complex_, real, imag); }
inline Tensor polar(const Tensor& abs, const Tensor& angle) { return call(Op::polar_, abs, angle); }
DY_UNARY(real) DY_UNARY(imag) DY_UNARY(conj) DY_UNARY(conj_physical) DY_UNARY(angle) DY_UNARY(view_as_real) DY_UNARY(view_as_complex)
#undef DY_UNARY

// A number as an operand: a 0-d tensor that does not take part in promotion beyond its kind.
Tensor scalar_tensor(Scalar value);
#define DY_BINARY(name)                                                                                                  \
  inline Tensor name(const Tensor& self, const Tensor& other) { return call(Op::name##_, self, other); }                 \
  inline Tensor name(const Tensor& self, Scalar other) { return call(Op::name##_, self, scalar_tensor(other)); }         \
  inline Tensor name(Scalar self, const Tensor& other) { return call(Op::name##_, scalar_tensor(self), other); }
DY_BINARY(add) DY_BINARY(sub) DY_BINARY(mul) DY_BINARY(div) DY_BINARY(pow) DY_BINARY(maximum) DY_BINARY(minimum)
DY_BINARY(eq) DY_BINARY(ne) DY_BINARY(lt) DY_BINARY(le) DY_BINARY(gt) DY_BINARY(ge) DY_BINARY(logical_and) DY_BINARY(logical_or)
DY_BINARY(atan2) DY_BINARY(hypot) DY_BINARY(logaddexp) DY_BINARY(logaddexp2) DY_BINARY(xlogy) DY_BINARY(xlog1py) DY_BINARY(zeta) DY_BINARY(igamma) DY_BINARY(igammac)
DY_BINARY(copysign) DY_BINARY(fmod) DY_BINARY(remainder) DY_BINARY(floor_divide) DY_BINARY(trunc_divide) DY_BINARY(fmax)
DY_BINARY(fmin) DY_BINARY(heaviside) DY_BINARY(ldexp)  DY_BINARY(clamp_min) DY_BINARY(clamp_max)
DY_BINARY(logical_xor) DY_BINARY(bitwise_and) DY_BINARY(bitwise_or) DY_BINARY(bitwise_xor) DY_BINARY(bitwise_left_shift)
DY_BINARY(bitwise_right_shift) DY_BINARY(gcd) DY_BINARY(lcm)
#undef DY_BINARY
inline Tensor add(const Tensor& self, const Tensor& other, Scalar alpha) { return call(Op::add_, self, other, alpha); }
inline Tensor sub(const Tensor& self, const Tensor& other, Scalar alpha) { return call(Op::sub_, self, other, alpha); }
inline Tensor div(const Tensor& self, const Tensor& other, std::string_view rounding_mode) { return call(Op::div_, self, other, rounding_mode); }
inline Tensor div(const Tensor& self, Scalar other, std::string_view rounding_mode) { return div(self, scalar_tensor(other), rounding_mode); }
inline Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other) { return call(Op::where_, condition, self, other); }
inline Tensor where(const Tensor& condition, const Tensor& self, Scalar other) { return where(condition, self, scalar_tensor(other)); }
inline Tensor where(const Tensor& condition, Scalar self, const Tensor& other) { return where(condition, scalar_tensor(self), other); }
inline Tensor where(const Tensor& condition, Scalar self, Scalar other) { return where(condition, scalar_tensor(self), scalar_tensor(other)); }
inline std::vector<Tensor> where(const Tensor& condition) { return call_all(Op::where_condition_, condition); }
inline Tensor clamp(const Tensor& self, const Tensor& min, const Tensor& max) { return call(Op::clamp_, self, min, max); }
inline Tensor clamp(const Tensor& self, Scalar min, Scalar max) { return call(Op::clamp_between_, self, min, max); }
inline Tensor clamp(const Tensor& self, Scalar min) { return call(Op::clamp_min_, self, scalar_tensor(min)); }
inline Tensor add_scaled(const Tensor& self, const Tensor& other, Scalar alpha) { return call(Op::add_scaled_, self, other, alpha); }
inline Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, Scalar value = 1) { return call(Op::addcmul_, self, tensor1, tensor2, value); }
inline Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, Scalar value = 1) { return call(Op::addcdiv_, self, tensor1, tensor2, value); }
inline Tensor isclose(const Tensor& self, const Tensor& other, Scalar rtol = 1e-5, Scalar atol = 1e-8, bool equal_nan = false) { return call(Op::isclose_, self, other, rtol, atol, equal_nan); }
inline bool allclose(const Tensor& self, const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) { return call(Op::all_, isclose(self, other, rtol, atol, equal_nan), Arg(), false).item<bool>(); }
inline bool equal(const Tensor& self, const Tensor& other) { return self.sizes() == other.sizes() && call(Op::all_, eq(self, other), Arg(), false).item<bool>(); }
inline Tensor nan_to_num(const Tensor& self, Scalar nan = 0.0, std::optional<Scalar> posinf = {}, std::optional<Scalar> neginf = {}) { return call(Op::nan_to_num_, self, nan, posinf, neginf); }
inline Tensor softplus(const Tensor& self, Scalar beta = 1, Scalar threshold = 20) { return call(Op::softplus_, self, beta, threshold); }
inline Tensor elu(const Tensor& self, Scalar alpha = 1.0) { return call(Op::elu_, self, alpha); }
inline Tensor celu(const Tensor& self, Scalar alpha = 1.0) { return call(Op::celu_, self, alpha); }
inline Tensor hardtanh(const Tensor& self, Scalar min_val = -1.0, Scalar max_val = 1.0) { return call(Op::hardtanh_, self, min_val, max_val); }
inline Tensor softshrink(const Tensor& self, Scalar lambd = 0.5) { return call(Op::softshrink_, self, lambd); }
inline Tensor hardshrink(const Tensor& self, Scalar lambd = 0.5) { return call(Op::hardshrink_, self, lambd); }
inline Tensor threshold(const Tensor& self, Scalar threshold, Scalar value) { return call(Op::threshold_, self, threshold, value); }
inline Tensor glu(const Tensor& self, int64_t dim = -1) { return call(Op::glu_, self, dim); }
inline Tensor prelu(const Tensor& self, const Tensor& weight) { return call(Op::prelu_, self, weight); }
inline Tensor rrelu(const Tensor& self, double lower = 0.125, double upper = 1.0 / 3, bool training = false) { return call(Op::rrelu_, self, lower, upper, training); }
inline Tensor nextafter(const Tensor& self, const Tensor& other) { return call(Op::nextafter_, self, other); }
inline Tensor float_power(const Tensor& self, const Tensor& exponent) { return call(Op::float_power_, self, exponent); }
inline Tensor polygamma(int64_t n, const Tensor& self) { return call(Op::polygamma_, n, self); }
inline Tensor multigammaln(const Tensor& self, int64_t p) { return call(Op::multigammaln_, self, p); }
inline Tensor leaky_relu(const Tensor& self, Scalar negative_slope = 0.01) { return call(Op::leaky_relu_, self, negative_slope); }
inline Tensor lerp(const Tensor& self, const Tensor& end, Scalar weight) { return call(Op::lerp_, self, end, weight); }

#define DY_OPERATOR(sign, name)                                                             \
  inline Tensor operator sign(const Tensor& a, const Tensor& b) { return name(a, b); }       \
  inline Tensor operator sign(const Tensor& a, Scalar b) { return name(a, b); }              \
  inline Tensor operator sign(Scalar a, const Tensor& b) { return name(a, b); }
DY_OPERATOR(+, add) DY_OPERATOR(-, sub) DY_OPERATOR(*, mul) DY_OPERATOR(/, div) DY_OPERATOR(%, remainder)
DY_OPERATOR(==, eq) DY_OPERATOR(!=, ne) DY_OPERATOR(<, lt) DY_OPERATOR(<=, le) DY_OPERATOR(>, gt) DY_OPERATOR(>=, ge)
DY_OPERATOR(&, bitwise_and) DY_OPERATOR(|, bitwise_or) DY_OPERATOR(^, bitwise_xor)
#undef DY_OPERATOR
inline Tensor operator-(const Tensor& a) { return neg(a); }
inline Tensor operator~(const Tensor& a) { return bitwise_not(a); }
#define DY_OPERATOR(sign, name)                                                                                     \
  inline Tensor& operator sign(const Tensor& a, const Tensor& b) { return call_inplace(Op::name##_, a, b); }   \
  inline Tensor& operator sign(const Tensor& a, Scalar b) { return call_inplace(Op::name##_, a, scalar_tensor(b)); }
DY_OPERATOR(+=, add) DY_OPERATOR(-=, sub) DY_OPERATOR(*=, mul) DY_OPERATOR(/=, div)
DY_OPERATOR(&=, bitwise_and) DY_OPERATOR(|=, bitwise_or) DY_OPERATOR(^=, bitwise_xor)
#undef DY_OPERATOR

// Reductions. An empty `dim` means all dimensions.
inline Tensor sum(const Tensor& self, IntList dim = {}, bool keepdim = false, DType dtype = {}) { return call(Op::sum_, self, dim, keepdim, dtype); }
inline Tensor mean(const Tensor& self, IntList dim = {}, bool keepdim = false, DType dtype = {}) { return call(Op::mean_, self, dim, keepdim, dtype); }
inline Tensor amax(const Tensor& self, IntList dim = {}, bool keepdim = false) { return call(Op::amax_, self, dim, keepdim); }
inline Tensor amin(const Tensor& self, IntList dim = {}, bool keepdim = false) { return call(Op::amin_, self, dim, keepdim); }
inline Tensor prod(const Tensor& self, IntList dim = {}, bool keepdim = false, DType dtype = {}) { return call(Op::prod_, self, dim, keepdim, dtype); }
inline Tensor any(const Tensor& self, IntList dim = {}, bool keepdim = false) { return call(Op::any_, self, dim, keepdim); }
inline Tensor all(const Tensor& self, IntList dim = {}, bool keepdim = false) { return call(Op::all_, self, dim, keepdim); }
inline Tensor argmax(const Tensor& self, std::optional<int64_t> dim = {}, bool keepdim = false) { return call(Op::argmax_, self, dim, keepdim); }
inline Tensor argmin(const Tensor& self, std::optional<int64_t> dim = {}, bool keepdim = false) { return call(Op::argmin_, self, dim, keepdim); }
inline Tensor var(const Tensor& self, IntList dim = {}, int64_t correction = 1, bool keepdim = false) { return call(Op::var_, self, dim, correction, keepdim); }
inline Tensor std(const Tensor& self, IntList dim = {}, int64_t correction = 1, bool keepdim = false) { return call(Op::std_, self, dim, correction, keepdim); }
inline Tensor nansum(const Tensor& self, IntList dim = {}, bool keepdim = false) { return call(Op::nansum_, self, dim, keepdim, Arg()); }
inline Tensor nanmean(const Tensor& self, IntList dim = {}, bool keepdim = false) { return call(Op::nanmean_, self, dim, keepdim, Arg()); }
inline Tensor count_nonzero(const Tensor& self, IntList dim = {}) { return call(Op::count_nonzero_, self, dim); }
inline Tensor vector_norm(const Tensor& self, Scalar ord = 2, IntList dim = {}, bool keepdim = false) { return call(Op::vector_norm_, self, ord, dim, keepdim, Arg()); }
inline Tensor norm(const Tensor& self, Scalar p = 2, IntList dim = {}, bool keepdim = false) { return vector_norm(self, p, dim, keepdim); }
inline Tensor trapezoid(const Tensor& y, const Tensor& x = {}, Scalar dx = 1, int64_t dim = -1) { return call(Op::trapezoid_, y, x, dx, dim); }
inline Tensor cov(const Tensor& self, int64_t correction = 1, const Tensor& fweights = {}, const Tensor& aweights = {}) { return call(Op::cov_, self, correction, fweights, aweights); }
inline Tensor corrcoef(const Tensor& self) { return call(Op::corrcoef_, self); }
inline Tensor dist(const Tensor& self, const Tensor& other, Scalar p = 2) { return call(Op::dist_, self, other, p); }
inline Tensor renorm(const Tensor& self, Scalar p, int64_t dim, Scalar maxnorm) { return call(Op::renorm_, self, p, dim, maxnorm); }
inline Tensor logsumexp(const Tensor& self, IntList dim, bool keepdim = false) { return call(Op::logsumexp_, self, dim, keepdim); }

// Shapes. Views share storage; reshape and contiguous copy only when they must.
inline Tensor view(const Tensor& self, IntList size) { return call(Op::view_, self, size); }
inline Tensor reshape(const Tensor& self, IntList shape) { return call(Op::reshape_, self, shape); }
inline Tensor flatten(const Tensor& self, int64_t start_dim = 0, int64_t end_dim = -1) { return call(Op::flatten_, self, start_dim, end_dim); }
inline Tensor permute(const Tensor& self, IntList dims) { return call(Op::permute_, self, dims); }
inline Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) { return call(Op::transpose_, self, dim0, dim1); }
inline Tensor expand(const Tensor& self, IntList size) { return call(Op::expand_, self, size); }
inline Tensor squeeze(const Tensor& self) { return call(Op::squeeze_, self, Arg()); }
inline Tensor squeeze(const Tensor& self, IntList dim) { return call(Op::squeeze_, self, dim); }
inline Tensor squeeze(const Tensor& self, int64_t dim) { return squeeze(self, IntList(&dim, 1)); }
inline Tensor unsqueeze(const Tensor& self, int64_t dim) { return call(Op::unsqueeze_, self, dim); }
inline Tensor slice(const Tensor& self, int64_t dim = 0, std::optional<int64_t> start = {}, std::optional<int64_t> end = {}, int64_t step = 1) { return call(Op::slice_, self, dim, start, end, step); }
inline Tensor select(const Tensor& self, int64_t dim, int64_t index) { return call(Op::select_, self, dim, index); }
inline Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) { return call(Op::narrow_, self, dim, start, length); }
inline Tensor contiguous(const Tensor& self) { return call(Op::contiguous_, self); }
inline Tensor clone(const Tensor& self) { return call(Op::clone_, self); }
inline Tensor detach(const Tensor& self) { return call(Op::detach_, self); }
inline Tensor cat(TensorList tensors, int64_t dim = 0) { return call(Op::cat_, tensors, dim); }
inline Tensor stack(TensorList tensors, int64_t dim = 0) { return call(Op::stack_, tensors, dim); }
inline std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim = 0) { return call_all(Op::split_, self, split_size, dim); }
inline std::vector<Tensor> split(const Tensor& self, IntList split_sizes, int64_t dim = 0) { return call_all(Op::split_with_sizes_, self, split_sizes, dim); }
inline std::vector<Tensor> split_with_sizes(const Tensor& self, IntList split_sizes, int64_t dim = 0) { return call_all(Op::split_with_sizes_, self, split_sizes, dim); }
inline std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim = 0) { return call_all(Op::chunk_, self, chunks, dim); }
inline std::vector<Tensor> tensor_split(const Tensor& self, int64_t sections, int64_t dim = 0) { return call_all(Op::tensor_split_, self, sections, dim); }
inline std::vector<Tensor> tensor_split(const Tensor& self, IntList indices, int64_t dim = 0) { return call_all(Op::tensor_split_indices_, self, indices, dim); }
inline std::vector<Tensor> hsplit(const Tensor& self, int64_t sections) { return call_all(Op::hsplit_, self, sections); }
inline std::vector<Tensor> hsplit(const Tensor& self, IntList indices) { return call_all(Op::hsplit_indices_, self, indices); }
inline std::vector<Tensor> vsplit(const Tensor& self, int64_t sections) { return call_all(Op::vsplit_, self, sections); }
inline std::vector<Tensor> vsplit(const Tensor& self, IntList indices) { return call_all(Op::vsplit_indices_, self, indices); }
inline std::vector<Tensor> dsplit(const Tensor& self, int64_t sections) { return call_all(Op::dsplit_, self, sections); }
inline std::vector<Tensor> dsplit(const Tensor& self, IntList indices) { return call_all(Op::dsplit_indices_, self, indices); }
inline std::vector<Tensor> unbind(const Tensor& self, int64_t dim = 0) { return call_all(Op::unbind_, self, dim); }
inline std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing = "ij") { return call_all(Op::meshgrid_, tensors, indexing); }
inline std::vector<Tensor> broadcast_tensors(TensorList tensors) { return call_all(Op::broadcast_tensors_, tensors); }
inline Tensor movedim(const Tensor& self, IntList source, IntList destination) { return call(Op::movedim_, self, source, destination); }
inline Tensor swapaxes(const Tensor& self, int64_t axis0, int64_t axis1) { return call(Op::swapaxes_, self, axis0, axis1); }
inline Tensor swapdims(const Tensor& self, int64_t dim0, int64_t dim1) { return call(Op::swapdims_, self, dim0, dim1); }
inline Tensor adjoint(const Tensor& self) { return call(Op::adjoint_, self); }
inline Tensor ravel(const Tensor& self) { return call(Op::ravel_, self); }
inline Tensor unflatten(const Tensor& self, int64_t dim, IntList sizes) { return call(Op::unflatten_, self, dim, sizes); }
inline Tensor broadcast_to(const Tensor& self, IntList size) { return call(Op::broadcast_to_, self, size); }
inline Tensor expand_as(const Tensor& self, const Tensor& other) { return call(Op::expand_as_, self, other); }
inline Tensor reshape_as(const Tensor& self, const Tensor& other) { return call(Op::reshape_as_, self, other); }
inline Tensor atleast_1d(const Tensor& self) { return call(Op::atleast_1d_, self); }
inline Tensor atleast_2d(const Tensor& self) { return call(Op::atleast_2d_, self); }
inline Tensor atleast_3d(const Tensor& self) { return call(Op::atleast_3d_, self); }
inline Tensor hstack(TensorList tensors) { return call(Op::hstack_, tensors); }
inline Tensor vstack(TensorList tensors) { return call(Op::vstack_, tensors); }
inline Tensor dstack(TensorList tensors) { return call(Op::dstack_, tensors); }
inline Tensor column_stack(TensorList tensors) { return call(Op::column_stack_, tensors); }
inline Tensor repeat(const Tensor& self, IntList repeats) { return call(Op::repeat_, self, repeats); }
inline Tensor tile(const Tensor& self, IntList dims) { return call(Op::tile_, self, dims); }
inline Tensor repeat_interleave(const Tensor& self, int64_t repeats, std::optional<int64_t> dim = {}) { return call(Op::repeat_interleave_, self, repeats, dim, Arg()); }
inline Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim = {}) { return call(Op::repeat_interleave_tensor_, self, repeats, dim, Arg()); }
inline Tensor roll(const Tensor& self, IntList shifts, IntList dims = {}) { return call(Op::roll_, self, shifts, dims); }
inline Tensor flip(const Tensor& self, IntList dims) { return call(Op::flip_, self, dims); }
inline Tensor fliplr(const Tensor& self) { return call(Op::fliplr_, self); }
inline Tensor flipud(const Tensor& self) { return call(Op::flipud_, self); }
inline Tensor rot90(const Tensor& self, int64_t k = 1) { return call(Op::rot90_, self, k, Arg()); }
inline Tensor rot90(const Tensor& self, int64_t k, IntList dims) { return call(Op::rot90_, self, k, dims); }
inline Tensor diagonal(const Tensor& self, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) { return call(Op::diagonal_, self, offset, dim1, dim2); }
inline Tensor diag(const Tensor& self, int64_t diagonal = 0) { return call(Op::diag_, self, diagonal); }
inline Tensor diagflat(const Tensor& self, int64_t offset = 0) { return call(Op::diagflat_, self, offset); }
inline Tensor diag_embed(const Tensor& self, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) { return call(Op::diag_embed_, self, offset, dim1, dim2); }
inline Tensor trace(const Tensor& self) { return call(Op::trace_, self); }
inline Tensor block_diag(TensorList tensors) { return call(Op::block_diag_, tensors); }
inline Tensor cartesian_prod(TensorList tensors) { return call(Op::cartesian_prod_, tensors); }
inline Tensor combinations(const Tensor& self, int64_t r = 2, bool with_replacement = false) { return call(Op::combinations_, self, r, with_replacement); }
inline Tensor as_strided(const Tensor& self, IntList size, IntList stride, std::optional<int64_t> storage_offset = {}) { return call(Op::as_strided_, self, size, stride, storage_offset); }
inline Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) { return call(Op::unfold_, self, dimension, size, step); }
inline Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index) { return call(Op::select_scatter_, self, src, dim, index); }
inline Tensor slice_scatter(const Tensor& self, const Tensor& src, int64_t dim = 0, std::optional<int64_t> start = {}, std::optional<int64_t> end = {}, int64_t step = 1) { return call(Op::slice_scatter_, self, src, dim, start, end, step); }
inline Tensor diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) { return call(Op::diagonal_scatter_, self, src, offset, dim1, dim2); }
inline Tensor constant_pad_nd(const Tensor& self, IntList pad, Scalar value = 0) { return call(Op::constant_pad_nd_, self, pad, value); }
inline Tensor pad(const Tensor& self, IntList pad, std::string_view mode = "constant", std::optional<double> value = {}) { return call(Op::pad_, self, pad, mode, value); }
inline Tensor tril(const Tensor& self, int64_t diagonal = 0) { return call(Op::tril_, self, diagonal); }
inline Tensor triu(const Tensor& self, int64_t diagonal = 0) { return call(Op::triu_, self, diagonal); }
inline Tensor to(const Tensor& self, DType dtype) { return self.dtype() == dtype ? self : call(Op::to_, self, dtype); }
inline Tensor type_as(const Tensor& self, const Tensor& other) { return to(self, other.dtype()); }
inline Tensor cast(const Tensor& self, DType dtype, std::string_view rounding = "nearest", std::string_view overflow = "standard") { return call(Op::cast_, self, dtype, rounding, overflow); }
inline Tensor round_to(const Tensor& self, std::string_view precision) { return call(Op::round_to_, self, precision); }

// By index. Positions are int64; the last of several writes to one place counts, sums are taken in the order of the index.
inline Tensor gather(const Tensor& self, int64_t dim, const Tensor& index) { return call(Op::gather_, self, dim, index, false); }
inline Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) { return call(Op::scatter_, self, dim, index, src); }
inline Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, Scalar value) { return call(Op::scatter_value_, self, dim, index, value); }
inline Tensor scatter_value(const Tensor& self, int64_t dim, const Tensor& index, Scalar value) { return call(Op::scatter_value_, self, dim, index, value); }
inline Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) { return call(Op::scatter_add_, self, dim, index, src); }
inline Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce, bool include_self = true) { return call(Op::scatter_reduce_, self, dim, index, src, reduce, include_self); }
inline Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) { return call(Op::index_select_, self, dim, index); }
inline Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Scalar alpha = 1) { return call(Op::index_add_, self, dim, index, source, alpha); }
inline Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) { return call(Op::index_copy_, self, dim, index, source); }
inline Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, Scalar value) { return call(Op::index_fill_, self, dim, index, value); }
inline Tensor take(const Tensor& self, const Tensor& index) { return call(Op::take_, self, index); }
inline Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate = false) { return call(Op::put_, self, index, source, accumulate); }
inline Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim = {}) { return call(Op::take_along_dim_, self, indices, dim); }
inline Tensor masked_fill(const Tensor& self, const Tensor& mask, Scalar value) { return call(Op::masked_fill_, self, mask, value); }
inline Tensor masked_select(const Tensor& self, const Tensor& mask) { return call(Op::masked_select_, self, mask); }
inline Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) { return call(Op::masked_scatter_, self, mask, source); }
inline Tensor nonzero(const Tensor& self) { return call(Op::nonzero_, self); }
inline Tensor argwhere(const Tensor& self) { return call(Op::argwhere_, self); }

// In order. NaN counts as largest; equal elements keep their order.
DY_RESULTS2(ValuesIndices, values, indices);
inline ValuesIndices values_indices(std::vector<Tensor> r) { return {std::move(r[0]), std::move(r[1])}; }
inline ValuesIndices sort(const Tensor& self, int64_t dim = -1, bool descending = false) { return values_indices(call_all(Op::sort_, self, dim, descending, true)); }
inline Tensor argsort(const Tensor& self, int64_t dim = -1, bool descending = false) { return call(Op::argsort_, self, dim, descending, true); }
inline Tensor msort(const Tensor& self) { return call(Op::msort_, self); }
inline ValuesIndices topk(const Tensor& self, int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true) { return values_indices(call_all(Op::topk_, self, k, dim, largest, sorted)); }
inline ValuesIndices kthvalue(const Tensor& self, int64_t k, int64_t dim = -1, bool keepdim = false) { return values_indices(call_all(Op::kthvalue_, self, k, dim, keepdim)); }
inline ValuesIndices mode(const Tensor& self, int64_t dim = -1, bool keepdim = false) { return values_indices(call_all(Op::mode_, self, dim, keepdim)); }
inline Tensor median(const Tensor& self) { return call(Op::median_, self); }
inline Tensor nanmedian(const Tensor& self) { return call(Op::nanmedian_, self); }
inline ValuesIndices median(const Tensor& self, int64_t dim, bool keepdim = false) { return values_indices(call_all(Op::median_dim_, self, dim, keepdim)); }
inline ValuesIndices nanmedian(const Tensor& self, int64_t dim, bool keepdim = false) { return values_indices(call_all(Op::nanmedian_dim_, self, dim, keepdim)); }
inline Tensor quantile(const Tensor& self, double q, std::optional<int64_t> dim = {}, bool keepdim = false, std::string_view interpolation = "linear") { return call(Op::quantile_value_, self, q, dim, keepdim, interpolation); }
inline Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& self, bool right = false) { return call(Op::searchsorted_, sorted_sequence, self, false, right, Arg(), Arg()); }
inline Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool right = false) { return call(Op::bucketize_, self, boundaries, false, right); }
inline Tensor isin(const Tensor& elements, const Tensor& test_elements) { return call(Op::isin_, elements, test_elements, false, false); }
inline std::vector<Tensor> unique(const Tensor& self) { return call_all(Op::unique_, self, true); }  // elements, inverse, counts
inline std::vector<Tensor> unique_consecutive(const Tensor& self) { return call_all(Op::unique_consecutive_, self); }
inline Tensor bincount(const Tensor& self, const Tensor& weights = {}, int64_t minlength = 0) { return call(Op::bincount_, self, weights, minlength); }
inline Tensor histc(const Tensor& self, int64_t bins = 100, Scalar min = 0, Scalar max = 0) { return call(Op::histc_, self, bins, min, max); }

inline Tensor max(const Tensor& self) { return call(Op::max_, self); }
inline Tensor min(const Tensor& self) { return call(Op::min_, self); }
inline Tensor max(const Tensor& self, const Tensor& other) { return call(Op::max_other_, self, other); }
inline Tensor min(const Tensor& self, const Tensor& other) { return call(Op::min_other_, self, other); }
inline ValuesIndices max(const Tensor& self, int64_t dim, bool keepdim = false) { return values_indices(call_all(Op::max_dim_, self, dim, keepdim)); }
inline ValuesIndices min(const Tensor& self, int64_t dim, bool keepdim = false) { return values_indices(call_all(Op::min_dim_, self, dim, keepdim)); }

// Running along a dimension.
inline Tensor cumsum(const Tensor& self, int64_t dim) { return call(Op::cumsum_, self, dim, Arg()); }
inline Tensor cumprod(const Tensor& self, int64_t dim) { return call(Op::cumprod_, self, dim, Arg()); }
inline Tensor logcumsumexp(const Tensor& self, int64_t dim) { return call(Op::logcumsumexp_, self, dim); }
inline ValuesIndices cummax(const Tensor& self, int64_t dim) { return values_indices(call_all(Op::cummax_, self, dim)); }
inline ValuesIndices cummin(const Tensor& self, int64_t dim) { return values_indices(call_all(Op::cummin_, self, dim)); }
inline Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x = {}, Scalar dx = 1, int64_t dim = -1) { return call(Op::cumulative_trapezoid_, y, x, dx, dim); }
inline Tensor diff(const Tensor& self, int64_t n = 1, int64_t dim = -1) { return call(Op::diff_, self, n, dim, Arg(), Arg()); }

// Creation. The default dtype is float32 (arange of integers: int64).
inline Tensor empty(IntList size, DType dtype = {}, Device device = cpu) { return call(Op::empty_, size, dtype, device); }
inline Tensor zeros(IntList size, DType dtype = {}, Device device = cpu) { return call(Op::zeros_, size, dtype, device); }
inline Tensor ones(IntList size, DType dtype = {}, Device device = cpu) { return call(Op::ones_, size, dtype, device); }
inline Tensor full(IntList size, Scalar fill_value, DType dtype = {}, Device device = cpu) { return call(Op::full_, size, fill_value, dtype, device); }
inline Tensor tril_indices(int64_t row, int64_t col, int64_t offset = 0) { return call(Op::tril_indices_, row, col, offset, Arg(), Arg()); }
inline Tensor triu_indices(int64_t row, int64_t col, int64_t offset = 0) { return call(Op::triu_indices_, row, col, offset, Arg(), Arg()); }
inline Tensor vander(const Tensor& x, std::optional<int64_t> N = {}, bool increasing = false) { return call(Op::vander_, x, N, increasing); }
inline Tensor arange(Scalar end, DType dtype = {}, Device device = cpu) { return call(Op::arange_, Scalar(0), end, Scalar(1), dtype, device); }
inline Tensor arange(Scalar start, Scalar end, Scalar step = 1, DType dtype = {}, Device device = cpu) { return call(Op::arange_, start, end, step, dtype, device); }
inline Tensor logspace(Scalar start, Scalar end, int64_t steps, double base = 10.0, DType dtype = {}, Device device = cpu) { return call(Op::logspace_, start, end, steps, base, dtype, device); }
inline Tensor linspace(Scalar start, Scalar end, int64_t steps, DType dtype = {}, Device device = cpu) { return call(Op::linspace_, start, end, steps, dtype, device); }
inline Tensor eye(int64_t n, std::optional<int64_t> m = {}, DType dtype = {}, Device device = cpu) { return call(Op::eye_, n, m, dtype, device); }
// In the shape of self, and its dtype and device where none is given.
inline Tensor empty_like(const Tensor& self, DType dtype = {}, std::optional<Device> device = {}) { return call(Op::empty_like_, self, dtype, device); }
inline Tensor zeros_like(const Tensor& self, DType dtype = {}, std::optional<Device> device = {}) { return call(Op::zeros_like_, self, dtype, device); }
inline Tensor ones_like(const Tensor& self, DType dtype = {}, std::optional<Device> device = {}) { return call(Op::ones_like_, self, dtype, device); }
inline Tensor full_like(const Tensor& self, Scalar fill_value, DType dtype = {}, std::optional<Device> device = {}) { return call(Op::full_like_, self, fill_value, dtype, device); }
// Of sizes, on the device of self, with its dtype where none is given.
inline Tensor new_empty(const Tensor& self, IntList size, DType dtype = {}) { return empty(size, dtype ? dtype : self.dtype(), self.device()); }
inline Tensor new_zeros(const Tensor& self, IntList size, DType dtype = {}) { return zeros(size, dtype ? dtype : self.dtype(), self.device()); }
inline Tensor new_ones(const Tensor& self, IntList size, DType dtype = {}) { return ones(size, dtype ? dtype : self.dtype(), self.device()); }
inline Tensor new_full(const Tensor& self, IntList size, Scalar fill_value, DType dtype = {}) { return full(size, fill_value, dtype ? dtype : self.dtype(), self.device()); }
inline Tensor Tensor::new_empty(IntList size) const { return dyadic::new_empty(*this, size); }
inline Tensor Tensor::new_zeros(IntList size) const { return dyadic::new_zeros(*this, size); }
inline Tensor Tensor::new_ones(IntList size) const { return dyadic::new_ones(*this, size); }
inline Tensor Tensor::new_full(IntList size, Scalar fill_value) const { return dyadic::new_full(*this, size, fill_value); }

// A number, or numbers in braces, nested as deep as the tensor has dimensions. Borrowed for the call.
class Numbers {
  Scalar number_ = 0;
  std::initializer_list<Numbers> list_{};
  bool is_list_ = false;

 public:
  template <class T>
    requires(std::is_arithmetic_v<T> || requires(const T& c) { double(c.real()) + double(c.imag()); })
  Numbers(const T& v) : number_(v) {}
  Numbers(Scalar v) : number_(v) {}
  Numbers(std::initializer_list<Numbers> list) : list_(list), is_list_(true) {}
  bool is_list() const { return is_list_; }
  Scalar number() const { return number_; }
  std::initializer_list<Numbers> list() const { return list_; }
};
// tensor({{1., 2.}, {3., 4.}}), tensor(5), tensor(a vector). The dtype follows the numbers: bool, int64, or the default dtype,
// complex where one number is.
Tensor tensor(Numbers values, DType dtype = {});
Tensor from_data(const void* data, IntList size, DType dtype);  // copies dense row-major elements of a plain dtype
// The same over memory of the caller's, who keeps it for as long as the tensor lives.
Tensor from_blob(void* data, IntList size, DType dtype = f32);
template <class T> constexpr DType dtype_for() {  // of numbers of C++
  if (std::is_same_v<T, bool>) return boolean;
  if constexpr (requires(const T& c) { c.real() + c.imag(); }) return sizeof(T) == 8 ? c64 : c128;
  if (std::is_floating_point_v<T>) return sizeof(T) == 4 ? f32 : f64;
  if (std::is_signed_v<T>) return sizeof(T) == 8 ? i64 : sizeof(T) == 4 ? i32 : sizeof(T) == 2 ? i16 : i8;
  return sizeof(T) == 8 ? u64 : sizeof(T) == 4 ? u32 : sizeof(T) == 2 ? u16 : u8;
}
Tensor tensor_from(const void* data, size_t n, DType elements, DType dtype);
template <std::same_as<std::vector<bool>> R> Tensor tensor(const R& values, DType dtype = {}) {
  const std::vector<uint8_t> bytes(values.begin(), values.end());
  return tensor_from(bytes.data(), bytes.size(), boolean, dtype);
}
template <class R>  // a vector, an array, a span
  requires requires(const R& r) { *std::data(r) + 0; std::size(r); }
Tensor tensor(const R& values, DType dtype = {}) {
  using T = std::remove_cvref_t<decltype(*std::data(values))>;
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, long double>, "tensor: elements are numbers of C++");
  return tensor_from(std::data(values), std::size(values), dtype_for<T>(), dtype);
}

// Random numbers: counter-based (Philox 4x32-10), keyed by the generator's seed and the number of the call.
void manual_seed(uint64_t seed);
struct GeneratorState { uint64_t seed = 0, calls = 0; };
GeneratorState generator_state();
void set_generator_state(GeneratorState state);
inline Tensor rand(IntList size, DType dtype = {}, Device device = cpu) { return call(Op::rand_, size, dtype, device); }
inline Tensor randn(IntList size, DType dtype = {}, Device device = cpu) { return call(Op::randn_, size, dtype, device); }
inline Tensor randint(int64_t high, IntList size, DType dtype = {}, Device device = cpu) { return call(Op::randint_, int64_t(0), high, size, dtype, device); }
inline Tensor randint(int64_t low, int64_t high, IntList size, DType dtype = {}, Device device = cpu) { return call(Op::randint_, low, high, size, dtype, device); }
inline Tensor rand_like(const Tensor& self, DType dtype = {}, std::optional<Device> device = {}) { return call(Op::rand_like_, self, dtype, device); }
inline Tensor randn_like(const Tensor& self, DType dtype = {}, std::optional<Device> device = {}) { return call(Op::randn_like_, self, dtype, device); }
inline Tensor randint_like(const Tensor& self, int64_t low, int64_t high, DType dtype = {}, std::optional<Device> device = {}) { return call(Op::randint_like_, self, low, high, dtype, device); }
inline Tensor normal(const Tensor& mean, const Tensor& std) { return call(Op::normal_, mean, std); }
inline Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement = false) { return call(Op::multinomial_, self, num_samples, replacement); }
inline Tensor randperm(int64_t n, DType dtype = {}, Device device = cpu) { return call(Op::randperm_, n, dtype, device); }
inline Tensor poisson(const Tensor& self) { return call(Op::poisson_, self); }
inline Tensor binomial(const Tensor& count, const Tensor& prob) { return call(Op::binomial_, count, prob); }
inline Tensor bernoulli(const Tensor& self) { return call(Op::bernoulli_, self); }
inline Tensor dropout(const Tensor& self, double p = 0.5, bool training = true) { return call(Op::dropout_, self, p, training); }

// Linear algebra and networks.
inline Tensor matmul(const Tensor& self, const Tensor& other) { return call(Op::matmul_, self, other); }
inline Tensor cdist(const Tensor& x1, const Tensor& x2, double p = 2) { return call(Op::cdist_, x1, x2, p); }
inline Tensor einsum(std::string_view equation, TensorList operands) { return call(Op::einsum_, equation, operands); }
inline Tensor mm(const Tensor& self, const Tensor& mat2) { return call(Op::mm_, self, mat2); }
inline Tensor bmm(const Tensor& self, const Tensor& mat2) { return call(Op::bmm_, self, mat2); }
inline Tensor mv(const Tensor& self, const Tensor& vec) { return call(Op::mv_, self, vec); }
inline Tensor dot(const Tensor& self, const Tensor& tensor) { return call(Op::dot_, self, tensor); }
inline Tensor vdot(const Tensor& self, const Tensor& other) { return call(Op::vdot_, self, other); }
inline Tensor outer(const Tensor& self, const Tensor& vec2) { return call(Op::outer_, self, vec2); }
inline Tensor inner(const Tensor& self, const Tensor& other) { return call(Op::inner_, self, other); }
inline Tensor kron(const Tensor& self, const Tensor& other) { return call(Op::kron_, self, other); }
inline Tensor cross(const Tensor& self, const Tensor& other, int64_t dim = -1) { return call(Op::cross_, self, other, dim); }
inline Tensor tensordot(const Tensor& a, const Tensor& b, IntList dims_a, IntList dims_b) { return call(Op::tensordot_, a, b, dims_a, dims_b); }
inline Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, Scalar beta = 1, Scalar alpha = 1) { return call(Op::addmm_, self, mat1, mat2, beta, alpha); }
inline Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, Scalar beta = 1, Scalar alpha = 1) { return call(Op::addmv_, self, mat, vec, beta, alpha); }
inline Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, Scalar beta = 1, Scalar alpha = 1) { return call(Op::addr_, self, vec1, vec2, beta, alpha); }
inline Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, Scalar beta = 1, Scalar alpha = 1) { return call(Op::baddbmm_, self, batch1, batch2, beta, alpha); }
inline Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, Scalar beta = 1, Scalar alpha = 1) { return call(Op::addbmm_, self, batch1, batch2, beta, alpha); }
inline Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {}) { return call(Op::linear_, input, weight, bias); }
// A template gives way where a program has a function of its own by this name, of a Tensor.
template <int = 0>
inline Tensor softmax(const Tensor& self, int64_t dim = -1, DType dtype = {}) { return call(Op::softmax_, self, dim, dtype); }
inline Tensor softmin(const Tensor& self, int64_t dim = -1) { return call(Op::softmin_, self, dim); }
inline Tensor log_softmax(const Tensor& self, int64_t dim = -1, DType dtype = {}) { return call(Op::log_softmax_, self, dim, dtype); }
inline Tensor layer_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5) { return call(Op::layer_norm_, input, normalized_shape, weight, bias, eps); }
inline Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx = -1, bool scale_grad_by_freq = false) { return call(Op::embedding_, weight, indices, padding_idx, scale_grad_by_freq); }
template <int = 0>
inline Tensor cross_entropy(const Tensor& input, const Tensor& target, std::string_view reduction = "mean", int64_t ignore_index = -100) { return call(Op::cross_entropy_, input, target, Tensor(), ignore_index, reduction, 0.0); }
inline Tensor attention_weights(const Tensor& query, const Tensor& key, const Tensor& attn_mask = {}, bool is_causal = false, std::optional<double> scale = {}) { return call(Op::attention_weights_, query, key, attn_mask, is_causal, scale); }
inline Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& attn_mask = {}, double dropout_p = 0, bool is_causal = false, std::optional<double> scale = {}) { return call(Op::scaled_dot_product_attention_, query, key, value, attn_mask, dropout_p, is_causal, scale); }
// clang-format on

}  // namespace dyadic::inline v1
#include "dyadic/ops_methods.inc"  // generated: x.sum(), x.relu_(), sum_out(out, x)
