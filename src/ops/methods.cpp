// Tensor's methods that are ops, and the small constructors that take values from C++.
#include <algorithm>
#include <bit>
#include <cstring>

#include "loops/blocked.h"
#include "ops/common.h"

namespace dyadic::inline v1 {

Tensor Tensor::to(DType dtype) const { return dyadic::to(*this, dtype); }
Tensor Tensor::to(Device device) const {
  if (device == this->device()) return *this;
  DY_CHECK_AS(ValueError, device.is_meta(), "to: a meta tensor has no values to bring to {}; create {} there instead",
              device.name(), describe(*this));
  return make_tensor(sizes(), dtype(), device);
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
Tensor Tensor::operator[](int64_t i) const { return dyadic::select(*this, 0, i); }

Tensor Tensor::index(std::initializer_list<Index> indices) const {
  return dyadic::index(*this, {indices.begin(), indices.size()});
}
const Tensor& Tensor::index_put_(std::initializer_list<Index> indices, const Tensor& values, bool accumulate) const {
  dyadic::index_put_(*this, {indices.begin(), indices.size()}, values, accumulate);
  return *this;
}
const Tensor& Tensor::index_put_(std::initializer_list<Index> indices, Scalar value) const {
  return index_put_(indices, scalar_tensor(value));
}

const Tensor& Tensor::copy_(const Tensor& source) const {
  if (!(source.sizes() == sizes())) return call_inplace(Op::copy_, *this, source.expand(sizes()));
  return call_inplace(Op::copy_, *this, source);
}
const Tensor& Tensor::fill_(Scalar value) const {
  if (GradMode::enabled() && requires_grad()) return copy_(scalar_tensor(value));
  check_writable("fill_", *this);
  check_follows_base("fill", *this);
  ops::fill(*this, value);
  bump(*this);
  return *this;
}
const Tensor& Tensor::zero_() const { return fill_(0); }
const Tensor& Tensor::add_(const Tensor& other, Scalar alpha) const {
  if (alpha.imag() != 0) return call_inplace(Op::add_, *this, v1::mul(other, alpha));
  return call_inplace(Op::add_, *this, other, alpha);
}
const Tensor& Tensor::mul_(const Tensor& other) const { return call_inplace(Op::mul_, *this, other); }
const Tensor& Tensor::mul_(Scalar other) const { return call_inplace(Op::mul_, *this, scalar_tensor(other)); }

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
  Tensor v = dyadic::to(*this, f64).contiguous();
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
Tensor tensor(std::initializer_list<double> values, DType dtype) {
  Tensor t = from_data(values.begin(), {int64_t(values.size())}, f64);
  return dyadic::to(t, dtype);
}

}  // namespace dyadic::inline v1
