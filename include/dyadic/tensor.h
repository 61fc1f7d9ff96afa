// Tensor: a strided view of a shared storage, as PyTorch means it. Shapes are lists of int64, at most kMaxDims long.
#pragma once
#include <array>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "dyadic/device.h"
#include "dyadic/dtype.h"
#include "dyadic/error.h"

namespace dyadic::inline v1 {

inline constexpr int kMaxDims = 16;
class Tensor;
struct TensorImpl;  // src/tensor/impl.h

// A borrowed list of int64: from braces, one number, a vector, or a pointer and a length. Valid for the call it is passed to.
class IntList {
  const int64_t* p_ = nullptr;
  size_t n_ = 0;

 public:
  IntList() = default;
  IntList(std::initializer_list<int64_t> l) : n_(l.size()) { p_ = l.begin(); }  // the braces live as long as the call
  IntList(const std::vector<int64_t>& v) : p_(v.data()), n_(v.size()) {}
  template <size_t N> IntList(const std::array<int64_t, N>& a) : p_(a.data()), n_(N) {}
  IntList(std::span<const int64_t> s) : p_(s.data()), n_(s.size()) {}
  IntList(const int64_t* p, size_t n) : p_(p), n_(n) {}
  IntList(const int64_t& one) : p_(&one), n_(1) {}  // zeros(3), sum(-1)
  IntList(std::nullopt_t) {}                        // where a list may be absent, an empty one is none
  template <std::same_as<std::optional<IntList>> L> IntList(const L& l) : IntList(l.value_or(IntList())) {}
  template <class T>
    requires(std::is_floating_point_v<T> || std::is_same_v<T, bool>)
  IntList(T) = delete;  // sum(true) is no dimension
  template <size_t N> IntList(const int64_t (&a)[N]) : p_(a), n_(N) {}
  size_t size() const { return n_; }
  bool empty() const { return n_ == 0; }
  const int64_t* begin() const { return p_; }
  const int64_t* end() const { return p_ + n_; }
  int64_t operator[](size_t i) const { return p_[i]; }
  int64_t front() const { return p_[0]; }
  int64_t back() const { return p_[n_ - 1]; }
  const int64_t* data() const { return p_; }
  std::vector<int64_t> vec() const { return {p_, p_ + n_}; }
  friend bool operator==(IntList a, IntList b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }
};

// A number as the user wrote it: its kind takes part in type promotion.
class Scalar {
 public:
  enum class Kind : uint8_t { boolean, integer, real, complex };
  template <std::integral T>  // nothing that only converts to bool, as a text does
  Scalar(T v)
      : kind_(std::is_same_v<T, bool> ? Kind::boolean : Kind::integer),
        unsigned_(std::is_unsigned_v<T> && uint64_t(v) >> 63),
        i_(int64_t(v)) {}
  template <std::floating_point T> Scalar(T v) : kind_(Kind::real), f_(double(v)) {}
  Scalar(double re, double im) : kind_(Kind::complex), f_(re), im_(im) {}
  template <class C>  // std::complex
    requires requires(const C& c) { double(c.real()) + double(c.imag()); }
  Scalar(const C& v) : Scalar(double(v.real()), double(v.imag())) {}
  Kind kind() const { return kind_; }
  bool is_unsigned() const { return unsigned_; }  // an integer from 2^63 on: integer() has its bits
  double real() const { return kind_ >= Kind::real ? f_ : unsigned_ ? double(uint64_t(i_)) : double(i_); }
  double imag() const { return im_; }
  int64_t integer() const { return kind_ >= Kind::real ? int64_t(f_) : i_; }
  // As a number of C++, reals cut to integers; Error where that loses more: the range, an imaginary part.
  template <class T> T to() const {
    if constexpr (std::is_same_v<T, bool>)
      return truth();
    else if constexpr (std::is_integral_v<T>)
      return T(integer_within(std::numeric_limits<T>::min(), uint64_t(std::numeric_limits<T>::max())));
    else if constexpr (std::is_floating_point_v<T>)
      return T(real_within(double(std::numeric_limits<T>::max())));
    else
      return T(real(), imag());
  }
  double toDouble() const { return to<double>(); }  // libtorch's names
  float toFloat() const { return to<float>(); }
  int64_t toLong() const { return to<int64_t>(); }
  int32_t toInt() const { return to<int32_t>(); }
  bool toBool() const { return to<bool>(); }
  bool isFloatingPoint() const { return kind_ == Kind::real; }
  bool isIntegral(bool include_bool = false) const { return kind_ == Kind::integer || (include_bool && isBoolean()); }
  bool isBoolean() const { return kind_ == Kind::boolean; }
  Scalar operator-() const {
    return kind_ == Kind::complex ? Scalar(-f_, -im_) : kind_ == Kind::real ? Scalar(-f_) : Scalar(-i_);
  }

 private:
  bool truth() const { return kind_ >= Kind::real ? f_ != 0 || im_ != 0 : i_ != 0; }
  uint64_t integer_within(int64_t low, uint64_t high) const;  // in two's complement
  double real_within(double high) const;
  std::string text() const;
  Kind kind_;
  bool unsigned_ = false;
  union {
    int64_t i_;
    double f_;
  };
  double im_ = 0;
};

// What stands in an index beside numbers and tensors, in libtorch's words: a new axis, or an absent bound; the other
// dimensions.
inline constexpr std::nullopt_t None = std::nullopt;
struct EllipsisType {};
inline constexpr EllipsisType Ellipsis{};
inline constexpr int64_t kNone = std::numeric_limits<int64_t>::min();  // an absent bound of a slice
struct Slice {
  int64_t start, stop, step;
  constexpr Slice(std::optional<int64_t> start = {}, std::optional<int64_t> stop = {}, std::optional<int64_t> step = {})
      : start(start.value_or(kNone)), stop(stop.value_or(kNone)), step(step.value_or(1)) {}
};
struct Index;

// Gives up a reference; true if it was the last. Whoever holds the only one shares it with no thread: no locked instruction.
inline bool drop(std::atomic<int32_t>& refs) {
  return refs.load(std::memory_order_acquire) == 1 || refs.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

class TensorOptions;
struct TensorList;
template <class T>
concept Text = std::convertible_to<T, std::string_view>;
#include "dyadic/result_types.inc"  // generated: struct ValuesIndices;
template <class T, size_t N> class Accessor;

// What a tensor was made by; libtorch writes x.grad_fn()->name().
struct NodeName : std::string {
  using std::string::string;
  NodeName(std::string s) : std::string(std::move(s)) {}
  const std::string& name() const { return *this; }
  const NodeName* operator->() const { return this; }
  explicit operator bool() const { return !empty(); }
};

class Tensor {
  TensorImpl* p_ = nullptr;

 public:
  Tensor() noexcept {}  // undefined: defined() is false
  Tensor(const Tensor& o) noexcept : p_(o.p_) {
    if (p_) refs(p_).fetch_add(1, std::memory_order_relaxed);
  }
  Tensor(Tensor&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Tensor& operator=(const Tensor& o) & noexcept {
    Tensor copy(o);
    std::swap(p_, copy.p_);
    return *this;
  }
  Tensor& operator=(Tensor&& o) & noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  // x[0] = y and x.index({0}) = y write into x. Error where the left side is a copy that nobody else sees: use index_put_.
  Tensor& operator=(const Tensor& values) &&;
  Tensor& operator=(Scalar value) &&;
  ~Tensor() {
    if (p_ && drop(refs(p_))) destroy(p_);
  }
  // Takes over one reference.
  static Tensor adopt(TensorImpl* p) {
    Tensor t;
    t.p_ = p;
    return t;
  }
  TensorImpl* impl() const { return p_; }
  bool defined() const { return p_ != nullptr; }
  bool is_same(const Tensor& o) const { return p_ == o.p_; }

  // What it is.
  DType dtype() const;
  Device device() const;
  int64_t dim() const;
  int64_t size(int64_t dim) const;  // negative counts from the end; IndexError outside
  IntList sizes() const;
  IntList strides() const;  // in elements
  int64_t stride(int64_t dim) const;
  int64_t storage_offset() const;  // in elements
  int64_t numel() const;
  int64_t element_size() const { return dtype().itemsize(); }
  int64_t nbytes() const;  // of the elements seen; for scaled formats codes, scales and all planes of the storage
  bool is_contiguous() const;
  bool is_meta() const { return device().is_meta(); }
  uint32_t version() const;  // counts the writes to the storage
  std::string str() const;   // as PyTorch prints it

  // Memory. Pointers see the stored format; ValueError on meta.
  void* data_ptr() const;
  template <class T> T* data() const { return static_cast<T*>(data_ptr()); }
  template <class T> T* data_ptr() const;  // accessor.h: TypeError unless T is the dtype's
  template <class T> const T* const_data_ptr() const { return data_ptr<T>(); }
  template <class T> T* mutable_data_ptr() const { return data_ptr<T>(); }
  template <class T, size_t N> Accessor<T, N> accessor() const&;                // accessor.h
  template <class T, size_t N> Accessor<T, N> accessor() && = delete;           // it reads this tensor's sizes: give it a name
  template <class T = double> T item() const { return item_scalar().to<T>(); }  // of a tensor with one element
  Scalar item_scalar() const;
  std::vector<double> to_vector() const;  // all elements in row-major order

  // Autograd.
  bool requires_grad() const;
  Tensor& requires_grad_(bool on = true);
  bool is_leaf() const;
  Tensor grad() const;                                  // undefined until a backward has reached this leaf
  template <class F> void register_hook(F hook) const;  // autograd.h
  void set_grad(const Tensor& g) const;
  void backward(const Tensor& gradient = {}, bool retain_graph = false, bool create_graph = false) const;
  void retain_grad() const;  // keep the gradient of what is no leaf, too
  Tensor detach() const;
  NodeName grad_fn() const;  // "AddBackward0"; empty for leaves

  // Views and casts. The functions of ops.h that begin with `self` are methods as well: x.sum(), x.sort(1), x.relu_().
  Tensor to(DType dtype) const;
  Tensor to(Device device) const;
  Tensor view(IntList size) const;
  Tensor reshape(IntList size) const;
  Tensor permute(IntList dims) const;
  Tensor transpose(int64_t dim0, int64_t dim1) const;
  Tensor t() const;
  Tensor expand(IntList size) const;
  Tensor contiguous() const;
  Tensor clone() const;
  Tensor T() const;  // the dimensions reversed; of the last two, and conjugates:
  Tensor mT() const;
  Tensor H() const;
  Tensor mH() const;
  Tensor operator[](int64_t i) const;  // select on the first dimension
  // x.index({0, Slice{1, 3}, rows, mask}): a view for numbers and slices, a copy where tensors or bools take part. The rules
  // are PyTorch's: Note [Advanced indexing], src/ops/indexing.cpp.
  Tensor index(std::initializer_list<Index> indices) const;
  Tensor index(const std::vector<Index>& indices) const;
  Tensor& index_put_(std::initializer_list<Index> indices, const Tensor& values, bool accumulate = false) const;
  Tensor& index_put_(std::initializer_list<Index> indices, Scalar value) const;

  // self becomes its own view, or what detach() gives. Error where that would need a gradient.
  Tensor& squeeze_() const;
  Tensor& squeeze_(IntList dim) const;
  Tensor& unsqueeze_(int64_t dim) const;
  Tensor& t_() const;
  Tensor& transpose_(int64_t dim0, int64_t dim1) const;
  Tensor& detach_() const;

  // In place; they return *this.
  Tensor& copy_(const Tensor& source) const;
  Tensor& fill_(Scalar value) const;
  Tensor& zero_() const;
  Tensor& add_(const Tensor& other, Scalar alpha = 1) const;
  Tensor& add_(Scalar other) const;
  Tensor& mul_(const Tensor& other) const;
  Tensor& mul_(Scalar other) const;

  // libtorch's other spellings (tensor_options.h).
  TensorOptions options() const;
  Tensor to(const TensorOptions& options, bool non_blocking = false, bool copy = false) const;
  Tensor to(Device device, DType dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(DeviceType device) const { return to(Device(device)); }
  Tensor to(DType dtype, bool non_blocking, bool copy = false) const;
  Tensor to(const Tensor& other) const;  // dtype and device
  Tensor toType(DType dtype) const { return to(dtype); }
  Tensor cpu() const { return to(Device()); }
  Tensor cuda() const { return to(Device(DeviceType::cuda)); }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_floating_point() const { return dtype().is_floating_point(); }
  bool is_complex() const { return dtype().is_complex(); }
  DType scalar_type() const { return dtype(); }
  int64_t ndimension() const { return dim(); }
  int64_t itemsize() const { return element_size(); }
  bool is_sparse() const { return false; }
  bool is_nonzero() const { return item<bool>(); }
  void print() const;  // to standard output
  Tensor moveaxis(IntList source, IntList destination) const;
  Tensor data() const { return detach(); }
  void reset() { *this = Tensor(); }
  Tensor& set_requires_grad(bool on) { return requires_grad_(on); }
  Tensor operator[](const Tensor& i) const;
  Tensor new_empty(IntList size) const;
  Tensor new_empty(IntList size, const TensorOptions& options) const;
  Tensor new_zeros(IntList size) const;
  Tensor new_zeros(IntList size, const TensorOptions& options) const;
  Tensor new_ones(IntList size) const;
  Tensor new_ones(IntList size, const TensorOptions& options) const;
  Tensor new_full(IntList size, Scalar fill_value) const;
  Tensor new_full(IntList size, Scalar fill_value, const TensorOptions& options) const;
  // Random numbers in place, unrecorded: of [from, to), of mean and standard deviation, integers below `to`, ones with
  // probability p, of rate lambda.
  Tensor& uniform_(double from = 0, double to = 1) const;
  Tensor& normal_(double mean = 0, double std = 1) const;
  Tensor& random_(int64_t to) const;
  Tensor& random_(int64_t from, int64_t to) const;
  Tensor& bernoulli_(double p = 0.5) const;
  Tensor& exponential_(double lambd = 1) const;

#include "dyadic/tensor_methods.inc"  // generated from them

 private:
  static std::atomic<int32_t>& refs(TensorImpl* p) { return *reinterpret_cast<std::atomic<int32_t>*>(p); }  // its first member
  static void destroy(TensorImpl* p) noexcept;
};

// Results by name, which are std::tuples as well: auto [values, indices] = x.sort(), std::get<1>(x.max(1)),
// std::tie(v, i) = x.topk(3).
template <class I> struct TensorTuple;
template <size_t... I> struct TensorTuple<std::index_sequence<I...>> {
  template <size_t> struct One {
    using type = Tensor;
  };
  using type = std::tuple<typename One<I>::type...>;
};
template <size_t N> struct Results : TensorTuple<std::make_index_sequence<N>>::type {
  using Tuple = typename TensorTuple<std::make_index_sequence<N>>::type;
  using Tuple::Tuple;
  static constexpr size_t kResults = N;
  const Tensor& operator[](size_t i) const {
    return std::apply([i](const auto&... t) -> const Tensor& { return *std::array{&t...}[i]; },
                      static_cast<const Tuple&>(*this));
  }
};
#define DY_RESULTS2(Name, first, second)                                    \
  struct Name : Results<2> {                                                \
    Tensor &first = std::get<0>(*this), &second = std::get<1>(*this);       \
    Name(Tensor a, Tensor b) : Results(std::move(a), std::move(b)) {}       \
    Name(const Name& o) : Results(o) {}                                     \
    Name(Name&& o) noexcept : Results(std::move(o)) {}                      \
    Name& operator=(const Name& o) { return Results::operator=(o), *this; } \
  }
#define DY_RESULTS3(Name, first, second, third)                                                    \
  struct Name : Results<3> {                                                                       \
    Tensor &first = std::get<0>(*this), &second = std::get<1>(*this), &third = std::get<2>(*this); \
    Name(Tensor a, Tensor b, Tensor c) : Results(std::move(a), std::move(b), std::move(c)) {}      \
    Name(const Name& o) : Results(o) {}                                                            \
    Name(Name&& o) noexcept : Results(std::move(o)) {}                                             \
    Name& operator=(const Name& o) { return Results::operator=(o), *this; }                        \
  }
#define DY_RESULTS4(Name, first, second, third, fourth)                                                               \
  struct Name : Results<4> {                                                                                          \
    Tensor &first = std::get<0>(*this), &second = std::get<1>(*this), &third = std::get<2>(*this),                    \
           &fourth = std::get<3>(*this);                                                                              \
    Name(Tensor a, Tensor b, Tensor c, Tensor d) : Results(std::move(a), std::move(b), std::move(c), std::move(d)) {} \
    Name(const Name& o) : Results(o) {}                                                                               \
    Name(Name&& o) noexcept : Results(std::move(o)) {}                                                                \
    Name& operator=(const Name& o) { return Results::operator=(o), *this; }                                           \
  }

// One entry of an index: a number, a Slice, a tensor of positions (integers) or a mask (bool), a bool, a new axis.
struct Index {
  enum class Kind : uint8_t { at, slice, new_axis, ellipsis, tensor, boolean } kind;
  int64_t i = 0;  // also of a boolean
  Slice slice{};
  Tensor tensor{};
  template <std::integral T> Index(T v) : kind(std::is_same_v<T, bool> ? Kind::boolean : Kind::at), i(int64_t(v)) {}
  Index(const char* text);  // "..."; IndexError for any other
  Index(EllipsisType) : kind(Kind::ellipsis) {}
  Index(std::nullopt_t) : kind(Kind::new_axis) {}
  Index(Slice s) : kind(Kind::slice), slice(s) {}
  Index(const Tensor& t) : kind(Kind::tensor), tensor(t) {}
  explicit Index(Kind k) : kind(k) {}
};
Tensor index(const Tensor& self, std::span<const Index> key);
void index_put_(const Tensor& self, std::span<const Index> key, const Tensor& values, bool accumulate = false);
namespace indexing {  // where libtorch has them
using v1::Ellipsis, v1::None, v1::Slice;
}

// Borrowed tensors: from braces, a vector or a span. Valid for the call it is passed to.
struct TensorList : std::span<const Tensor> {
  using span::span;
  TensorList(std::span<const Tensor> s) : span(s) {}
  TensorList(std::initializer_list<Tensor> l) : span(l.begin(), l.size()) {}
};

std::ostream& operator<<(std::ostream& out, const Tensor& t);  // as str() shows it
std::ostream& operator<<(std::ostream& out, IntList sizes);    // [2, 3]
std::ostream& operator<<(std::ostream& out, DType t);          // f32
std::ostream& operator<<(std::ostream& out, Device d);         // cpu

}  // namespace dyadic::inline v1

template <class T>
  requires std::derived_from<T, dyadic::Results<T::kResults>>
struct std::tuple_size<T> : std::integral_constant<size_t, T::kResults> {};
template <size_t I, class T>
  requires std::derived_from<T, dyadic::Results<T::kResults>>
struct std::tuple_element<I, T> {
  using type = dyadic::Tensor;
};
