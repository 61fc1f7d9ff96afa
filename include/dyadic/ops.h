// The ops as free functions: exp(x), softmax(x, -1), x.sum({0}), relu_() in place, add_out(out, a, b). They are made from the
// ops' records (src/ops/<family>/<op>.cpp; tools/generate), whose documentation `dyadic ops exp` shows: functions.inc, which
// this reads, holds all but those of networks (ops_nn.h), linalg.h and fft.h. Where one begins with `self`, it is a method of
// Tensor too.
//
// By hand stands here what no record says: operators, other orders of arguments, numbers in the place of tensors, names of
// results. A function whose name stands here is not generated.
#pragma once
#include "dyadic/call.h"
#include "dyadic/numbers.h"

namespace dyadic::inline v1 {

// A number as an operand: a 0-d tensor that does not take part in promotion beyond its kind.
Tensor scalar_tensor(Scalar value);

// For generated functions: an empty list is none; an op with several results, by name.
inline Arg list_or_none(IntList l) { return l.empty() ? Arg() : Arg(l); }
template <class R, class... A> inline R call_named(Op op, const A&... a) {
  Arg args[] = {Arg(a)...};
  Tensor out[kMaxOutputs];
  call_op(op, args, int(sizeof...(A)), out);
  return
      [&]<size_t... I>(std::index_sequence<I...>) { return R{std::move(out[I])...}; }(std::make_index_sequence<R::kResults>());
}

// Results whose names in the signature make no good name for all of them.
DY_RESULTS2(Frexp, mantissa, exponent);
DY_RESULTS2(MinMax, min, max);
namespace linalg {
DY_RESULTS2(SignLog, sign, logabsdet);
DY_RESULTS2(Qr, Q, R);
DY_RESULTS3(Svd, U, S, Vh);
DY_RESULTS2(Eigen, eigenvalues, eigenvectors);
DY_RESULTS2(Factors, LU, pivots);
DY_RESULTS3(Plu, P, L, U);
DY_RESULTS2(WithInfo, result, info);
DY_RESULTS4(LeastSquares, solution, residuals, rank, singular_values);
}  // namespace linalg

}  // namespace dyadic::inline v1
#include "dyadic/functions.inc"

namespace dyadic::inline v1 {

// clang-format off
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

inline Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other) { return call(Op::where_, condition, self, other); }
inline Tensor where(const Tensor& condition, const Tensor& self, Scalar other) { return where(condition, self, scalar_tensor(other)); }
inline Tensor where(const Tensor& condition, Scalar self, const Tensor& other) { return where(condition, scalar_tensor(self), other); }
inline Tensor where(const Tensor& condition, Scalar self, Scalar other) { return where(condition, scalar_tensor(self), scalar_tensor(other)); }
inline std::vector<Tensor> where(const Tensor& condition) { return call_all(Op::where_condition_, condition); }
inline Tensor clamp(const Tensor& self, const Tensor& min, const Tensor& max) { return call(Op::clamp_, self, min, max); }
inline Tensor clamp(const Tensor& self, Scalar min, Scalar max) { return call(Op::clamp_between_, self, min, max); }
inline Tensor clamp(const Tensor& self, Scalar min) { return call(Op::clamp_min_, self, scalar_tensor(min)); }
inline bool allclose(const Tensor& self, const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) { return call(Op::all_, isclose(self, other, rtol, atol, equal_nan), Arg(), false).item<bool>(); }
inline bool equal(const Tensor& self, const Tensor& other) { return self.sizes() == other.sizes() && call(Op::all_, eq(self, other), Arg(), false).item<bool>(); }
inline Tensor to(const Tensor& self, DType dtype) { return self.dtype() == dtype ? self : call(Op::to_, self, dtype); }
inline Tensor type_as(const Tensor& self, const Tensor& other) { return to(self, other.dtype()); }

// An empty list names no dimension; its absence all.
inline Tensor squeeze(const Tensor& self) { return call(Op::squeeze_, self, Arg()); }
inline Tensor squeeze(const Tensor& self, IntList dim) { return call(Op::squeeze_, self, dim); }
// By the names of overloads.
inline std::vector<Tensor> split_with_sizes(const Tensor& self, IntList split_sizes, int64_t dim = 0) { return split(self, split_sizes, dim); }
inline Tensor scatter_value(const Tensor& self, int64_t dim, const Tensor& index, Scalar value) { return scatter(self, dim, index, value); }

// In another order of arguments, or without those that come first.
inline Tensor arange(Scalar end, DType dtype = {}, Device device = cpu) { return call(Op::arange_, Scalar(0), end, Scalar(1), dtype, device); }
inline Tensor arange(Scalar start, Scalar end, Scalar step = 1, DType dtype = {}, Device device = cpu) { return call(Op::arange_, start, end, step, dtype, device); }
inline Tensor randint(int64_t high, IntList size, DType dtype = {}, Device device = cpu) { return call(Op::randint_, int64_t(0), high, size, dtype, device); }
inline Tensor randint(int64_t low, int64_t high, IntList size, DType dtype = {}, Device device = cpu) { return call(Op::randint_, low, high, size, dtype, device); }
inline Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& self, bool right = false) { return call(Op::searchsorted_, sorted_sequence, self, false, right, Arg(), Arg()); }
inline Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool right = false) { return call(Op::bucketize_, self, boundaries, false, right); }
// A template gives way where a program has a function of its own by this name, of a Tensor.
template <int = 0>
inline Tensor cross_entropy(const Tensor& input, const Tensor& target, std::string_view reduction = "mean", int64_t ignore_index = -100) { return call(Op::cross_entropy_, input, target, Tensor(), ignore_index, reduction, 0.0); }
template <int = 0>
inline Tensor softmax(const Tensor& self, int64_t dim = -1, DType dtype = {}) { return call(Op::softmax_, self, dim, dtype); }
template <int = 0>
inline Tensor normalize(const Tensor& input, double p = 2.0, int64_t dim = 1, double eps = 1e-12) { return call(Op::normalize_, input, p, dim, eps); }

// Of sizes, on the device of self, with its dtype where none is given.
inline Tensor new_empty(const Tensor& self, IntList size, DType dtype = {}) { return empty(size, dtype ? dtype : self.dtype(), self.device()); }
inline Tensor new_zeros(const Tensor& self, IntList size, DType dtype = {}) { return zeros(size, dtype ? dtype : self.dtype(), self.device()); }
inline Tensor new_ones(const Tensor& self, IntList size, DType dtype = {}) { return ones(size, dtype ? dtype : self.dtype(), self.device()); }
inline Tensor new_full(const Tensor& self, IntList size, Scalar fill_value, DType dtype = {}) { return full(size, fill_value, dtype ? dtype : self.dtype(), self.device()); }
inline Tensor Tensor::new_empty(IntList size) const { return dyadic::new_empty(*this, size); }
inline Tensor Tensor::new_zeros(IntList size) const { return dyadic::new_zeros(*this, size); }
inline Tensor Tensor::new_ones(IntList size) const { return dyadic::new_ones(*this, size); }
inline Tensor Tensor::new_full(IntList size, Scalar fill_value) const { return dyadic::new_full(*this, size, fill_value); }

// Random numbers: counter-based (Philox 4x32-10), keyed by the generator's seed and the number of the call.
void manual_seed(uint64_t seed);
struct GeneratorState { uint64_t seed = 0, calls = 0; };
GeneratorState generator_state();
void set_generator_state(GeneratorState state);
// clang-format on

}  // namespace dyadic::inline v1
#include "dyadic/methods.inc"  // generated: x.sum(), x.relu_(), sum_out(out, x)
