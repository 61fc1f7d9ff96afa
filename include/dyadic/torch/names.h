// Names of namespace torch: ops, dtypes, devices, enumerations as constants (kSum, kBilinear), checks, str.
#pragma once
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <iostream>
#include <numeric>
#include <sstream>

#include "dyadic/accessor.h"
#include "dyadic/cuda.h"
#include "dyadic/fft.h"
#include "dyadic/linalg.h"
#include "dyadic/ops_more.h"
#include "dyadic/ops_nn.h"
#include "dyadic/parallel.h"
#include "dyadic/tensor_options.h"
#include "dyadic/torch_names.h"

// An option with its getter and setter, as libtorch's classes of options have them.
#define TORCH_ARG(T, name)                                        \
 public:                                                          \
  inline auto name(const T& new_##name) -> decltype(*this) {      \
    this->name##_ = new_##name;                                   \
    return *this;                                                 \
  }                                                               \
  inline const T& name() const noexcept { return this->name##_; } \
  inline T& name() noexcept { return this->name##_; }             \
                                                                  \
 private:                                                         \
  T name##_ /* NOLINT */
#define DY_COMMA ,

namespace dyadic::inline v1 {
inline Tensor operator&&(const Tensor& a, const Tensor& b) { return logical_and(a, b); }
inline Tensor operator||(const Tensor& a, const Tensor& b) { return logical_or(a, b); }
inline Tensor operator!(const Tensor& a) { return logical_not(a); }
inline bool operator==(const NodeName& f, std::nullptr_t) { return f.empty(); }
}  // namespace dyadic::inline v1
#include "dyadic/torch_aliases.inc"  // the ops' other names

namespace torch {

using dyadic::DType, dyadic::Device, dyadic::DeviceType, dyadic::Scalar, dyadic::Tensor, dyadic::TensorList,
    dyadic::TensorOptions;
using dyadic::GradMode, dyadic::AutoGradMode, dyadic::NoGradGuard, dyadic::InferenceMode;
using dyadic::TypeError, dyadic::ValueError, dyadic::IndexError;
using dyadic::operator<<;
using ScalarType = DType;
using Dtype = DType;
using IntArrayRef = dyadic::IntList;
using std::optional, std::nullopt, std::make_optional, std::nullopt_t;
using Error = dyadic::Error;
template <class T> using ArrayRef = std::span<const T>;
template <class K, class V> using OrderedDict = dyadic::nn::NamedItems<V>;
namespace indexing {
using dyadic::Ellipsis, dyadic::None, dyadic::Slice;
using TensorIndex = dyadic::Index;
}  // namespace indexing

using dyadic::kFloat64, dyadic::kFloat32, dyadic::kFloat16, dyadic::kBFloat16, dyadic::kDouble, dyadic::kFloat, dyadic::kHalf;
using dyadic::kInt64, dyadic::kInt32, dyadic::kInt16, dyadic::kInt8, dyadic::kUInt8, dyadic::kBool, dyadic::kLong, dyadic::kInt;
using dyadic::kShort, dyadic::kChar, dyadic::kByte, dyadic::kComplexFloat, dyadic::kComplexDouble;
inline constexpr DType kF64 = kDouble, kF32 = kFloat, kF16 = kHalf, kI64 = kLong, kI32 = kInt, kI16 = kShort, kI8 = kChar,
                       kU8 = kByte;
inline constexpr DeviceType kCPU = DeviceType::cpu, kCUDA = DeviceType::cuda, kMeta = DeviceType::meta;
enum class Layout : uint8_t { strided };
enum class MemoryFormat : uint8_t { Contiguous, Preserve };
inline constexpr Layout kStrided = Layout::strided;

// An enumeration's member: the word that the ops know it by.
struct Word : std::string {
  using std::string::string;
  Word(std::string s) : std::string(std::move(s)) {}
  Word(std::string_view s) : std::string(s) {}
};
struct Tag {
  const char* text;
  constexpr operator std::string_view() const { return text; }
  operator Word() const { return Word(text); }
};
namespace enumtype {}
inline constexpr Tag kNone{"none"}, kMean{"mean"}, kSum{"sum"}, kBatchMean{"batchmean"}, kMax{"max"};
inline constexpr Tag kNearest{"nearest"}, kLinear{"linear"}, kBilinear{"bilinear"}, kBicubic{"bicubic"},
    kTrilinear{"trilinear"}, kArea{"area"};
inline constexpr Tag kConstant{"constant"}, kReflect{"reflect"}, kReplicate{"replicate"}, kCircular{"circular"},
    kZeros{"zeros"}, kBorder{"border"}, kReflection{"reflection"};
inline constexpr Tag kTanh{"tanh"}, kReLU{"relu"}, kGELU{"gelu"}, kSigmoid{"sigmoid"}, kLeakyReLU{"leaky_relu"};
inline constexpr Tag kFanIn{"fan_in"}, kFanOut{"fan_out"};
namespace Reduction {
inline constexpr Tag None{"none"}, Mean{"mean"}, Sum{"sum"};
}

// Sizes for so many dimensions, held.
class Ints {
  std::vector<int64_t> v_{};

 public:
  Ints() = default;
  template <std::integral T> Ints(T one) : v_{int64_t(one)} {}
  Ints(std::initializer_list<int64_t> l) : v_(l) {}
  Ints(std::vector<int64_t> v) : v_(std::move(v)) {}
  Ints(IntArrayRef l) : v_(l.vec()) {}
  template <size_t N> Ints(const std::array<int64_t, N>& a) : v_(a.begin(), a.end()) {}
  operator IntArrayRef() const { return v_; }
  bool empty() const { return v_.empty(); }
  size_t size() const { return v_.size(); }
  int64_t operator[](size_t i) const { return v_[i]; }
  auto begin() const { return v_.begin(); }
  auto end() const { return v_.end(); }
};
template <size_t D, class T = int64_t> class ExpandingArray {
  std::array<T, D> v_{};

 public:
  ExpandingArray(std::initializer_list<T> l) { std::copy_n(l.begin(), std::min(D, l.size()), v_.begin()); }
  ExpandingArray(const std::vector<T>& l) { std::copy_n(l.begin(), std::min(D, l.size()), v_.begin()); }
  ExpandingArray(T one) { v_.fill(one); }
  operator IntArrayRef() const { return v_; }
  operator Ints() const { return Ints(std::vector<int64_t>(v_.begin(), v_.end())); }
  const std::array<T, D>& operator*() const { return v_; }
  const std::array<T, D>* operator->() const { return &v_; }
  size_t size() const { return D; }
};
// One factor for all dimensions, which libtorch takes as a list.
struct Factor : std::optional<double> {
  Factor() = default;
  Factor(double v) : optional(v) {}
  Factor(const std::vector<double>& v) : optional(v.empty() ? std::nullopt : std::optional(v[0])) {}
};

#include "dyadic/torch_names.inc"  // using dyadic::add; ...
using namespace dyadic::aliases;   // absolute, subtract ...
using dyadic::device, dyadic::dtype, dyadic::requires_grad, dyadic::default_dtype, dyadic::set_default_dtype,
    dyadic::scalar_tensor;
using dyadic::equal, dyadic::allclose, dyadic::tensor, dyadic::from_blob, dyadic::manual_seed;
namespace fft = dyadic::fft;
namespace linalg = dyadic::linalg;

// In libtorch's order of arguments.
inline Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool out_int32 = false, bool right = false) {
  Tensor i = dyadic::bucketize(self, boundaries, right);
  return out_int32 ? i.to(kInt) : i;
}
inline Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& self, bool out_int32 = false, bool right = false) {
  Tensor i = dyadic::searchsorted(sorted_sequence, self, right);
  return out_int32 ? i.to(kInt) : i;
}
inline Tensor nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight, Tag reduction,
                       int64_t ignore_index = -100) {
  return dyadic::nll_loss(self, target, weight, ignore_index, reduction);
}
inline Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const Tensor& weight = {}, Tag reduction = kMean,
                                 int64_t ignore_index = -100, double label_smoothing = 0) {
  return dyadic::call(dyadic::Op::cross_entropy_, self, target, weight, ignore_index, std::string_view(reduction),
                      label_smoothing);
}
inline Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight,
                                               const Tensor& pos_weight, Tag reduction = kMean) {
  return dyadic::binary_cross_entropy_with_logits(self, target, weight, reduction, pos_weight);
}
inline std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& self, bool some = true) {
  auto r = linalg::svd(self, !some);
  return {r.U, r.S, r.Vh.mH()};
}
template <std::same_as<DType> D> Tensor sum(const Tensor& self, D dtype) {
  return dyadic::sum(self, IntArrayRef(), false, dtype);
}
template <std::same_as<DType> D> Tensor mean(const Tensor& self, D dtype) {
  return dyadic::mean(self, IntArrayRef(), false, dtype);
}
inline Tensor clamp(const Tensor& self, nullopt_t, Scalar max) { return dyadic::clamp_max(self, max); }
inline Tensor clamp(const Tensor& self, Scalar min, nullopt_t) { return dyadic::clamp_min(self, min); }
inline Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                         const Tensor& running_var, bool training, double momentum, double eps,
                         bool /*cudnn_enabled: there is no cuDNN*/) {
  return dyadic::batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps);
}
inline Tensor cholesky(const Tensor& self, bool upper = false) { return linalg::cholesky(self, upper); }
inline bool is_floating_point(const Tensor& self) { return self.is_floating_point(); }
inline bool is_complex(const Tensor& self) { return self.is_complex(); }
inline bool isFloatingType(ScalarType t) { return t.is_floating_point(); }
inline bool isIntegralType(ScalarType t, bool include_bool = false) { return t.is_integer() || (include_bool && t == kBool); }
inline size_t elementSize(ScalarType t) { return size_t(t.itemsize()); }
inline Tensor upsample_nearest2d(const Tensor& self, IntArrayRef size) { return dyadic::interpolate(self, size); }
inline Tensor fft_fft(const Tensor& self) { return fft::fft(self); }
inline Tensor fft_rfft(const Tensor& self) { return fft::rfft(self); }

namespace cuda {
inline bool is_available() { return dyadic::cuda::is_available(); }
inline size_t device_count() { return size_t(dyadic::cuda::device_count()); }
inline bool cudnn_is_available() { return false; }
inline void manual_seed(uint64_t seed) {  // of the one generator that all devices draw from
  if (is_available()) dyadic::manual_seed(seed);
}
inline void manual_seed_all(uint64_t seed) { manual_seed(seed); }
inline void synchronize(int64_t device_index = -1) {
  if (is_available()) dyadic::cuda::synchronize(device_index);
}
}  // namespace cuda
inline bool hasCUDA() { return cuda::is_available(); }
inline void set_num_threads(int n) { dyadic::set_num_threads(n); }
inline int get_num_threads() { return dyadic::num_threads(); }

// Pieces of a loop; here all of it at once, since ops use the threads.
template <class F> void parallel_for(int64_t begin, int64_t end, int64_t /*grain_size: the pieces are one*/, const F& f) {
  if (begin < end) f(begin, end);
}

template <class... A> std::string str(const A&... a) {
  std::ostringstream text;
  (text << ... << a);
  return text.str();
}
namespace detail {
template <class... A> [[noreturn]] void failed(const char* condition, const A&... a) {
  const std::string said = str(a...);
  throw Error(said.empty() ? "a check failed: " + std::string(condition) : said);
}
template <class... A> void warn(const A&... a) { std::cerr << "Warning: " << str(a...) << "\n"; }
}  // namespace detail
}  // namespace torch

namespace at {
using namespace torch;
}
namespace c10 {
using torch::ArrayRef, torch::Device, torch::DeviceType, torch::Error, torch::IntArrayRef, torch::nullopt, torch::optional;
using torch::IndexError, torch::TypeError, torch::ValueError;
using torch::Scalar, torch::ScalarType, torch::str, torch::TensorOptions, torch::InferenceMode;
template <class T> using complex = std::complex<T>;
template <class T> using List = std::vector<T>;
template <class T, unsigned N = 4> using SmallVector = std::vector<T>;
}  // namespace c10

#define TORCH_CHECK(condition, ...) \
  (static_cast<bool>(condition) ? void() : ::torch::detail::failed(#condition __VA_OPT__(, ) __VA_ARGS__))
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define TORCH_CHECK_VALUE TORCH_CHECK
#define TORCH_CHECK_INDEX TORCH_CHECK
#define AT_ASSERT TORCH_CHECK
#define AT_ASSERTM TORCH_CHECK
#define TORCH_WARN(...) ::torch::detail::warn(__VA_ARGS__)
#define AT_ERROR(...) ::torch::detail::failed("", __VA_ARGS__)
// The names are those of 2.x.
#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 0

// The body runs with scalar_t for the dtype.
#define DY_DISPATCH_CASE(k, T, ...) \
  if (dispatched == (k)) {          \
    using scalar_t = T;             \
    (void)sizeof(scalar_t);         \
    return __VA_ARGS__();           \
  }
#define DY_DISPATCH(type, name, cases)                                                                \
  [&] {                                                                                               \
    const ::torch::ScalarType dispatched = (type);                                                    \
    cases throw ::torch::Error(::torch::str(name, ": not implemented for ", dispatched.long_name())); \
  }()
#define DY_FLOATING_CASES(...) \
  DY_DISPATCH_CASE(::torch::kDouble, double, __VA_ARGS__) DY_DISPATCH_CASE(::torch::kFloat, float, __VA_ARGS__)
#define DY_INTEGRAL_CASES(...)                            \
  DY_DISPATCH_CASE(::torch::kLong, int64_t, __VA_ARGS__)  \
  DY_DISPATCH_CASE(::torch::kInt, int32_t, __VA_ARGS__)   \
  DY_DISPATCH_CASE(::torch::kShort, int16_t, __VA_ARGS__) \
  DY_DISPATCH_CASE(::torch::kChar, int8_t, __VA_ARGS__) DY_DISPATCH_CASE(::torch::kByte, uint8_t, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(type, name, ...) DY_DISPATCH(type, name, DY_FLOATING_CASES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(type, name, ...) DY_DISPATCH(type, name, DY_INTEGRAL_CASES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(type, name, ...) \
  DY_DISPATCH(type, name, DY_FLOATING_CASES(__VA_ARGS__) DY_INTEGRAL_CASES(__VA_ARGS__))
