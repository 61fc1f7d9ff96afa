// Tensor: a strided view of a shared storage, as PyTorch means it. Shapes are lists of int64, at most kMaxDims long.
#pragma once
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
  IntList(std::span<const int64_t> s) : p_(s.data()), n_(s.size()) {}
  IntList(const int64_t* p, size_t n) : p_(p), n_(n) {}
  IntList(const int64_t& one) : p_(&one), n_(1) {}  // zeros(3), sum(-1)
  template <class T>
    requires(std::is_floating_point_v<T> || std::is_same_v<T, bool>)
  IntList(T) = delete;  // sum(true) is no dimension
  template <size_t N> IntList(const int64_t (&a)[N]) : p_(a), n_(N) {}
  size_t size() const { return n_; }
  bool empty() const { return n_ == 0; }
  const int64_t* begin() const { return p_; }
  const int64_t* end() const { return p_ + n_; }
  int64_t operator[](size_t i) const { return p_[i]; }
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
      return nonzero();
    else if constexpr (std::is_integral_v<T>)
      return T(integer_within(std::numeric_limits<T>::min(), uint64_t(std::numeric_limits<T>::max())));
    else if constexpr (std::is_floating_point_v<T>)
      return T(real_within(double(std::numeric_limits<T>::max())));
    else
      return T(real(), imag());
  }

 private:
  bool nonzero() const { return kind_ >= Kind::real ? f_ != 0 || im_ != 0 : i_ != 0; }
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

struct ValuesIndices;
struct Frexp;
struct MinMax;
template <class T, size_t N> class Accessor;

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
  template <class T> T* data_ptr() const { return data<T>(); }
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
  std::string grad_fn() const;  // "AddBackward"; empty for leaves

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
  const Tensor& index_put_(std::initializer_list<Index> indices, const Tensor& values, bool accumulate = false) const;
  const Tensor& index_put_(std::initializer_list<Index> indices, Scalar value) const;

  // self becomes its own view, or what detach() gives. Error where that would need a gradient.
  const Tensor& squeeze_() const;
  const Tensor& squeeze_(IntList dim) const;
  const Tensor& unsqueeze_(int64_t dim) const;
  const Tensor& t_() const;
  const Tensor& transpose_(int64_t dim0, int64_t dim1) const;
  const Tensor& detach_() const;

  // In place; they return *this.
  const Tensor& copy_(const Tensor& source) const;
  const Tensor& fill_(Scalar value) const;
  const Tensor& zero_() const;
  const Tensor& add_(const Tensor& other, Scalar alpha = 1) const;
  const Tensor& add_(Scalar other) const;
  const Tensor& mul_(const Tensor& other) const;
  const Tensor& mul_(Scalar other) const;

#include "dyadic/tensor_methods.inc"  // generated from them

 private:
  static std::atomic<int32_t>& refs(TensorImpl* p) { return *reinterpret_cast<std::atomic<int32_t>*>(p); }  // its first member
  static void destroy(TensorImpl* p) noexcept;
};

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
