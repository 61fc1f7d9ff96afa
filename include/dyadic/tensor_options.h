// TensorOptions, libtorch's last argument of whatever makes a tensor: zeros({2, 3}, dtype(f64).requires_grad(true)),
// ones_like(x, y.options()), x.to(y.options()). A DType or a Device alone is one, too.
#pragma once
#include "dyadic/generator.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1 {

class TensorOptions {
  DType dtype_ = {};  // empty, absent: the default, or for _like and new_ functions and to() the tensor's
  std::optional<Device> device_ = {};
  bool requires_grad_ = false;

 public:
  TensorOptions() = default;
  TensorOptions(DType dtype) : dtype_(dtype) {}
  TensorOptions(Device device) : device_(device) {}
  TensorOptions(DeviceType device) : device_(device) {}
  TensorOptions dtype(DType dtype) const {
    return changed([&](TensorOptions& o) { o.dtype_ = dtype; });
  }
  TensorOptions device(std::optional<Device> device) const {
    return changed([&](TensorOptions& o) { o.device_ = device; });
  }
  TensorOptions device(DeviceType device, int64_t index = -1) const { return this->device(Device(device, index)); }
  TensorOptions requires_grad(bool on) const {
    return changed([&](TensorOptions& o) { o.requires_grad_ = on; });
  }
  template <class T> TensorOptions layout(T /*layout: every tensor is strided*/) const { return *this; }
  template <class T> TensorOptions memory_format(T /*memory_format: memory has one layout*/) const { return *this; }
  TensorOptions pinned_memory(bool /*pinned_memory: there is one device*/) const { return *this; }
  DType dtype() const { return dtype_ ? dtype_ : default_dtype(); }
  Device device() const { return device_.value_or(cpu); }
  bool requires_grad() const { return requires_grad_; }
  bool has_dtype() const { return bool(dtype_); }
  bool has_device() const { return device_.has_value(); }
  DType dtype_or(DType other) const { return dtype_ ? dtype_ : other; }
  DType given_dtype() const { return dtype_; }
  std::optional<Device> given_device() const { return device_; }
  Tensor finish(Tensor t) const { return requires_grad_ ? t.requires_grad_() : t; }

 private:
  template <class F> TensorOptions changed(F change) const {
    TensorOptions copy = *this;
    change(copy);
    return copy;
  }
};
inline TensorOptions dtype(DType dtype) { return TensorOptions(dtype); }
inline TensorOptions device(Device device) { return TensorOptions(device); }
inline TensorOptions requires_grad(bool on = true) { return TensorOptions().requires_grad(on); }

// clang-format off
#define DY_GIVEN o.given_dtype(), o.device()
inline Tensor empty(IntList size, const TensorOptions& o) { return o.finish(empty(size, DY_GIVEN)); }
inline Tensor zeros(IntList size, const TensorOptions& o) { return o.finish(zeros(size, DY_GIVEN)); }
inline Tensor ones(IntList size, const TensorOptions& o) { return o.finish(ones(size, DY_GIVEN)); }
inline Tensor full(IntList size, Scalar fill_value, const TensorOptions& o) { return o.finish(full(size, fill_value, DY_GIVEN)); }
inline Tensor rand(IntList size, const TensorOptions& o) { return o.finish(rand(size, DY_GIVEN)); }
inline Tensor randn(IntList size, const TensorOptions& o) { return o.finish(randn(size, DY_GIVEN)); }
inline Tensor randint(int64_t high, IntList size, const TensorOptions& o) { return randint(high, size, DY_GIVEN); }
inline Tensor randint(int64_t low, int64_t high, IntList size, const TensorOptions& o) { return randint(low, high, size, DY_GIVEN); }
inline Tensor randperm(int64_t n, const TensorOptions& o) { return randperm(n, DY_GIVEN); }
inline Tensor arange(Scalar end, const TensorOptions& o) { return o.finish(arange(end, DY_GIVEN)); }
inline Tensor arange(Scalar start, Scalar end, const TensorOptions& o) { return o.finish(arange(start, end, 1, DY_GIVEN)); }
inline Tensor arange(Scalar start, Scalar end, DType dtype) { return arange(start, end, 1, dtype); }
inline Tensor arange(Scalar start, Scalar end, Scalar step, const TensorOptions& o) { return o.finish(arange(start, end, step, DY_GIVEN)); }
inline Tensor linspace(Scalar start, Scalar end, int64_t steps, const TensorOptions& o) { return o.finish(linspace(start, end, steps, DY_GIVEN)); }
inline Tensor eye(int64_t n, const TensorOptions& o) { return o.finish(eye(n, std::optional<int64_t>(), DY_GIVEN)); }
inline Tensor eye(int64_t n, DType dtype) { return eye(n, std::optional<int64_t>(), dtype); }
template <std::integral M> Tensor eye(int64_t n, M m, const TensorOptions& o) { return o.finish(eye(n, std::optional<int64_t>(int64_t(m)), DY_GIVEN)); }
inline Tensor tensor(Numbers values, const TensorOptions& o) { return o.finish(tensor(values, o.given_dtype()).to(o.device())); }
template <class R>
  requires requires(const R& r) { *std::data(r) + 0; std::size(r); }
Tensor tensor(const R& values, const TensorOptions& o) { return o.finish(tensor(values, o.given_dtype()).to(o.device())); }
inline Tensor from_blob(void* data, IntList size, const TensorOptions& o) { return o.finish(from_blob(data, size, o.dtype())); }
// Of rows that lie elsewhere: strides in elements.
inline Tensor from_blob(void* data, IntList size, IntList stride, const TensorOptions& o = {}) {
  int64_t span = 1;
  for (size_t i = 0; i < size.size(); ++i) span += (size[i] - 1) * stride[i];
  return o.finish(as_strided(from_blob(data, {span}, o.dtype()), size, stride));
}
// The deleter runs when the last view of the memory is gone; here: a copy is taken, and it runs at once.
template <std::invocable<void*> D> Tensor from_blob(void* data, IntList size, D deleter, const TensorOptions& o = {}) {
  Tensor t = from_data(data, size, o.dtype());
  deleter(data);
  return o.finish(t);
}
#undef DY_GIVEN
#define DY_LIKE(name) inline Tensor name##_like(const Tensor& self, const TensorOptions& o) { return o.finish(name##_like(self, o.given_dtype(), o.given_device())); }
DY_LIKE(empty) DY_LIKE(zeros) DY_LIKE(ones) DY_LIKE(rand) DY_LIKE(randn)
#undef DY_LIKE
inline Tensor full_like(const Tensor& self, Scalar fill_value, const TensorOptions& o) { return o.finish(full_like(self, fill_value, o.given_dtype(), o.given_device())); }
inline Tensor randint_like(const Tensor& self, int64_t high) { return randint_like(self, 0, high); }
inline Tensor normal(double mean, double std, IntList size, const TensorOptions& o = {}) { return o.finish(randn(size, o) * std + mean); }
inline Tensor normal(const Tensor& mean, double std = 1) { return normal(mean, full_like(mean, std)); }
inline Tensor normal(double mean, const Tensor& std) { return normal(full_like(std, mean), std); }

inline TensorOptions Tensor::options() const { return TensorOptions(dtype()).device(device()); }
inline Tensor Tensor::to(Device device, DType dtype, bool /*non_blocking: there is one device*/, bool copy) const { return to(dtype, false, copy).to(device); }
inline Tensor Tensor::to(DType dtype, bool /*non_blocking: there is one device*/, bool copy) const { return copy && dtype == this->dtype() ? clone() : to(dtype); }
inline Tensor Tensor::to(const TensorOptions& o, bool /*non_blocking: there is one device*/, bool copy) const { return to(o.given_device().value_or(device()), o.dtype_or(dtype()), false, copy); }
inline Tensor Tensor::to(const Tensor& other) const { return to(other.device(), other.dtype()); }
inline Tensor Tensor::operator[](const Tensor& i) const { return index({i}); }
inline Tensor Tensor::index(const std::vector<Index>& indices) const { return dyadic::index(*this, indices); }
inline Tensor Tensor::moveaxis(IntList source, IntList destination) const { return movedim(source, destination); }
inline Tensor Tensor::new_empty(IntList size, const TensorOptions& o) const { return o.finish(empty(size, o.dtype_or(dtype()), o.given_device().value_or(device()))); }
inline Tensor Tensor::new_zeros(IntList size, const TensorOptions& o) const { return o.finish(zeros(size, o.dtype_or(dtype()), o.given_device().value_or(device()))); }
inline Tensor Tensor::new_ones(IntList size, const TensorOptions& o) const { return o.finish(ones(size, o.dtype_or(dtype()), o.given_device().value_or(device()))); }
inline Tensor Tensor::new_full(IntList size, Scalar fill_value, const TensorOptions& o) const { return o.finish(full(size, fill_value, o.dtype_or(dtype()), o.given_device().value_or(device()))); }

// Drawn in f32 at least; what needs a gradient must not be a recorded leaf, as with any write.
inline Tensor& Tensor::uniform_(double from, double to) const { return copy_(rand(sizes(), dtype(), device()) * (to - from) + from); }
inline Tensor& Tensor::normal_(double mean, double std) const { return copy_(randn(sizes(), dtype(), device()) * std + mean); }
inline Tensor& Tensor::random_(int64_t to) const { return copy_(randint(0, to, sizes(), i64, device())); }
inline Tensor& Tensor::random_(int64_t from, int64_t to) const { return copy_(randint(from, to, sizes(), i64, device())); }
inline Tensor& Tensor::bernoulli_(double p) const { return copy_(rand(sizes(), f32, device()) < p); }
inline Tensor& Tensor::exponential_(double lambd) const { return copy_(-(-rand(sizes(), f32, device())).log1p() / lambd); }
// clang-format on

}  // namespace dyadic::inline v1
