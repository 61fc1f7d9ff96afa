// Tensor's methods that are ops, and the small constructors that take values from C++.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>

#include "loops/blocked.h"
#include "ops/common.h"
#include "tensor/batched.h"
#include "tensor/resize.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1 {

Tensor Tensor::to(DType dtype) const { return dyadic::to(*this, dtype); }
Tensor Tensor::to(Device device) const {
  if (device == this->device()) return *this;
  if (device.is_meta()) return make_tensor(sizes(), dtype(), device);
  DY_CHECK_AS(ValueError, !is_meta(), "to: a meta tensor has no values to bring to {}; create {} there instead", device.name(),
              describe(*this));
  return dtype().is_blocked() ? brought(*this, device) : call(Op::to_device_, *this, device);
}
Tensor Tensor::view(IntList size) const { return dyadic::view(*this, size); }
Tensor Tensor::reshape(IntList size) const { return dyadic::reshape(*this, size); }
Tensor Tensor::permute(IntList dims) const { return dyadic::permute(*this, dims); }
Tensor Tensor::transpose(int64_t dim0, int64_t dim1) const { return dyadic::transpose(*this, dim0, dim1); }
Tensor Tensor::t() const { return call(Op::t_, *this); }
Tensor Tensor::expand(IntList size) const { return dyadic::expand(*this, size); }
Tensor Tensor::contiguous() const { return dyadic::contiguous(*this); }
Tensor Tensor::clone() const { return dyadic::clone(*this); }
Tensor Tensor::detach() const { return dyadic::detach(*this); }
Tensor Tensor::T() const {
  int64_t dims[kMaxDims], n = dim();
  for (int64_t d = 0; d < n; ++d) dims[d] = n - 1 - d;
  return permute({dims, size_t(n)});
}
Tensor Tensor::mT() const {
  DY_CHECK(dim() >= 2, "mT: needs a matrix: self is {}", describe(*this));
  return transpose(-2, -1);
}
Tensor Tensor::H() const {
  DY_CHECK(dim() == 2 || dim() == 0, "H: needs a matrix: self is {}; use mH", describe(*this));
  return dim() ? transpose(0, 1).conj() : conj();
}
Tensor Tensor::mH() const { return adjoint(); }
Tensor Tensor::operator[](int64_t i) const { return dyadic::select(*this, 0, i); }

namespace {

// A write into a value that is about to die: somebody else must see its memory.
void check_seen(const Tensor& t) {
  DY_CHECK(t.defined(), "operator=: the left side is an undefined tensor");
  const Storage& s = *t.impl()->storage;
  DY_CHECK(t.impl()->refs.load() > 1 || s.refs.load() > 1 || s.free_foreign,
           "operator=: the left side is a copy that nobody else sees: it is {}; index_put_ writes where tensors or bools index",
           describe(t));
}
// Where a gradient is recorded the view is a tensor of its own: what nobody else holds may be it.
Tensor& become(const char* name, const Tensor& self, const Tensor& view) {
  const int holders = 1 + (view.impl()->base == self.impl());
  if (GradMode::enabled() && !self.is_leaf() && self.impl()->refs.load() == holders) return const_cast<Tensor&>(self) = view;
  DY_CHECK(!self.requires_grad() || !GradMode::enabled(),
           "{}_: a tensor that requires grad keeps its shape: self is {}; use {}, or NoGrad", name, describe(self), name);
  become_view(self, view);
  return const_cast<Tensor&>(self);
}

}  // namespace

Tensor& Tensor::operator=(const Tensor& values) && {
  check_seen(*this);
  copy_(values);
  return *this;
}
Tensor& Tensor::operator=(Scalar value) && {
  check_seen(*this);
  fill_(value);
  return *this;
}
Tensor& Tensor::squeeze_() const { return become("squeeze", *this, squeeze()); }
Tensor& Tensor::squeeze_(IntList dim) const { return become("squeeze", *this, squeeze(dim)); }
Tensor& Tensor::unsqueeze_(int64_t dim) const { return become("unsqueeze", *this, unsqueeze(dim)); }
Tensor& Tensor::t_() const { return become("t", *this, t()); }
Tensor& Tensor::transpose_(int64_t dim0, int64_t dim1) const { return become("transpose", *this, transpose(dim0, dim1)); }
Tensor& Tensor::detach_() const {
  drop_base(*p_);
  if (Node* n = std::exchange(p_->node, nullptr)) release(n);
  p_->flags &= uint8_t(~kRequiresGrad);
  return const_cast<Tensor&>(*this);
}

void Tensor::print() const { std::fputs((str() + "\n").c_str(), stdout); }
Tensor Tensor::index(std::initializer_list<Index> indices) const {
  return dyadic::index(*this, {indices.begin(), indices.size()});
}
Tensor& Tensor::index_put_(std::initializer_list<Index> indices, const Tensor& values, bool accumulate) const {
  dyadic::index_put_(*this, {indices.begin(), indices.size()}, values, accumulate);
  return const_cast<Tensor&>(*this);
}
Tensor& Tensor::index_put_(std::initializer_list<Index> indices, Scalar value) const {
  return index_put_(indices, scalar_tensor(value));
}

Tensor& Tensor::copy_(const Tensor& source) const {
  if (!(source.sizes() == sizes())) return call_inplace(Op::copy_, *this, source.expand(sizes()));
  return call_inplace(Op::copy_, *this, source);
}
Tensor& Tensor::fill_(Scalar value) const {
  if (GradMode::enabled() && requires_grad()) return copy_(scalar_tensor(value));
  check_memory_writable("fill_", *this);
  check_follows_base("fill", *this);
  if (entries_of(*this))
    whole_of(*this).fill_(value);
  else
    ops::fill(*this, value);
  bump(*this);
  return const_cast<Tensor&>(*this);
}
Tensor& Tensor::zero_() const { return fill_(0); }
Tensor& Tensor::add_(const Tensor& other, Scalar alpha) const {
  if (alpha.imag() != 0) return call_inplace(Op::add_, *this, v1::mul(other, alpha));
  return call_inplace(Op::add_, *this, other, alpha);
}
Tensor& Tensor::mul_(const Tensor& other) const { return call_inplace(Op::mul_, *this, other); }
Tensor& Tensor::mul_(Scalar other) const { return call_inplace(Op::mul_, *this, scalar_tensor(other)); }
Tensor& Tensor::add_(Scalar other) const { return call_inplace(Op::add_, *this, scalar_tensor(other)); }

Scalar Tensor::item_scalar() const {
  DY_CHECK(numel() == 1, "item: needs one element: self is {}", describe(*this));
  DY_CHECK_AS(ValueError, !is_meta(), "item: a meta tensor has no values: self is {}; run on cpu to read it", describe(*this));
  union {
    float f32[2];
    double f64[2];
    int32_t i32;
    int64_t i64;
    uint64_t u64;
  } value;
  note_read(*p_);
  read_values(*this, &value);
  switch (compute_type(dtype())) {
    case Compute::f64:
      return value.f64[0];
    case Compute::f32:
      return value.f32[0];
    case Compute::i32:
      return dtype() == boolean ? Scalar(value.i32 != 0) : Scalar(value.i32);
    case Compute::u64:
      return size_t(value.u64);
    case Compute::c64:
      return {value.f32[0], value.f32[1]};
    case Compute::c128:
      return {value.f64[0], value.f64[1]};
    default:
      return value.i64;
  }
}

std::vector<double> Tensor::to_vector() const {
  DY_CHECK_AS(ValueError, !is_meta(), "to_vector: a meta tensor has no values: self is {}", describe(*this));
  NoGrad guard;
  Tensor v = dyadic::to(cpu(), f64).contiguous();
  const double* p = v.data<double>();
  return {p, p + v.numel()};
}

Tensor from_data(const void* data, IntList size, DType dtype) {
  Tensor t = make_tensor(size, dtype, cpu);
  DY_CHECK_AS(ValueError, !dtype.is_blocked(), "from_data: {} has planes; make an f32 tensor and convert it with .to",
              dtype.name());
  if (t.numel()) std::memcpy(t.impl()->data(), data, size_t(t.nbytes()));
  return t;
}
Tensor from_blob(void* data, IntList size, DType dtype) {
  DY_CHECK_AS(TypeError, !dtype.is_blocked(), "from_blob: {} has planes; only plain dtypes lie in a row", dtype.name());
  return make_over(data, size, dtype);
}

namespace {

// What braces hold: their shape, and the numbers in row-major order.
struct Flat {
  std::vector<int64_t> shape;
  std::vector<Scalar> numbers;
  Scalar::Kind kind = Scalar::Kind::boolean;

  void read(const Numbers& n, size_t depth) {
    const bool first = numbers.empty() && !ended_;
    if (first && n.is_list()) {
      DY_CHECK_AS(ValueError, depth < size_t(kMaxDims), "tensor: braces nested deeper than {}", kMaxDims);
      shape.push_back(int64_t(n.list().size()));
    }
    const bool fits = n.is_list() ? depth < shape.size() && shape[depth] == int64_t(n.list().size()) : depth == shape.size();
    DY_CHECK_AS(ValueError, fits, "tensor: rows of different lengths: {} at depth {} does not fit {}",
                n.is_list() ? fmt::format("one of {}", n.list().size()) : "a number", depth, shape_text(shape));
    if (n.is_list()) {
      for (const Numbers& item : n.list()) read(item, depth + 1);
    } else {
      kind = std::max(kind, n.number().kind());
      numbers.push_back(n.number());
    }
    ended_ = true;
  }

 private:
  bool ended_ = false;  // one innermost list, perhaps empty: the shape is known
};

template <class T, class F> Tensor copied(const Flat& flat, DType elements, F&& value) {
  std::vector<T> row;
  for (const Scalar& s : flat.numbers) row.push_back(value(s));
  return from_data(row.data(), flat.shape, elements);
}

}  // namespace

Tensor tensor(Numbers values, DType dtype) {
  Flat flat;
  flat.read(values, 0);
  if (flat.numbers.empty()) flat.kind = Scalar::Kind::real;
  if (!dtype) dtype = number_dtype(dtype_of(flat.kind));
  Tensor t;
  if (flat.kind == Scalar::Kind::complex)
    t = copied<std::array<double, 2>>(flat, c128, [](const Scalar& s) { return std::array{s.real(), s.imag()}; });
  else if (flat.kind == Scalar::Kind::real)
    t = copied<double>(flat, f64, [](const Scalar& s) { return s.real(); });
  else if (dtype == u64)
    t = copied<uint64_t>(flat, u64, [](const Scalar& s) { return s.to<uint64_t>(); });
  else
    t = copied<int64_t>(flat, i64, [](const Scalar& s) { return s.to<int64_t>(); });
  return dyadic::to(t, dtype);
}
Tensor tensor_from(const void* data, size_t n, DType elements, DType dtype) {
  const auto kind = elements.is_floating_point() ? Scalar::Kind::real : Scalar::Kind::integer;
  if (!dtype && elements == u64)
    for (size_t i = 0; i < n; ++i)
      DY_CHECK_AS(ValueError, static_cast<const uint64_t*>(data)[i] >> 63 == 0,
                  "tensor: an element is beyond int64: {}; ask for u64", static_cast<const uint64_t*>(data)[i]);
  if (!dtype && (elements == u8 || elements == i8 || elements == i16)) dtype = elements;
  if (!dtype) dtype = elements == boolean ? boolean : number_dtype(dtype_of(kind));
  return dyadic::to(from_data(data, {int64_t(n)}, elements), dtype);
}

}  // namespace dyadic::inline v1
