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
Tensor Tensor::t() const {
  DY_CHECK(dim() <= 2, "t: needs a matrix: self is {}; use transpose or permute", describe(*this));
  return dim() < 2 ? *this : dyadic::transpose(*this, 0, 1);
}
Tensor Tensor::expand(IntList size) const { return dyadic::expand(*this, size); }
Tensor Tensor::contiguous() const { return dyadic::contiguous(*this); }
Tensor Tensor::clone() const { return dyadic::clone(*this); }
Tensor Tensor::detach() const { return dyadic::detach(*this); }
Tensor Tensor::operator[](int64_t i) const { return dyadic::select(*this, 0, i); }

Tensor Tensor::index(std::initializer_list<Index> indices) const {
  int64_t used = std::count_if(indices.begin(), indices.end(),
                               [](const Index& i) { return i.kind == Index::Kind::at || i.kind == Index::Kind::slice; });
  DY_CHECK_AS(IndexError, used <= dim(), "index: too many indices: {} for {}", used, describe(*this));
  Tensor t = *this;
  int64_t d = 0;
  for (const Index& i : indices) {
    switch (i.kind) {
      case Index::Kind::at:
        t = dyadic::select(t, d, i.i);
        break;
      case Index::Kind::new_axis:
        t = unsqueeze(t, d++);
        break;
      case Index::Kind::ellipsis:
        d += dim() - used;
        break;
      case Index::Kind::slice: {
        auto bound = [](int64_t v) { return v == kNone ? std::nullopt : std::optional(v); };
        if (i.slice.start != kNone || i.slice.stop != kNone || i.slice.step != 1)
          t = slice(t, d, bound(i.slice.start), bound(i.slice.stop), i.slice.step);
        ++d;
      }
    }
  }
  return t;
}

const Tensor& Tensor::copy_(const Tensor& source) const {
  if (!(source.sizes() == sizes())) return call_inplace(Op::copy_, *this, source.expand(sizes()));
  return call_inplace(Op::copy_, *this, source);
}
const Tensor& Tensor::fill_(Scalar value) const {
  DY_CHECK(!(GradMode::enabled() && requires_grad()), "fill_: {} requires grad; wrap the write in no_grad", describe(*this));
  ops::fill(*this, value);
  bump(*this);
  return *this;
}
const Tensor& Tensor::zero_() const { return fill_(0); }
const Tensor& Tensor::add_(const Tensor& other, Scalar alpha) const {
  bool one = alpha.real() == 1 && alpha.imag() == 0;
  return call_inplace(Op::add_, *this, one ? other : mul(other, alpha));
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

std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim) {
  DY_CHECK(split_size > 0, "split: the size of a part is not positive: split_size is {}", split_size);
  std::vector<Tensor> parts;
  dim = wrap_dim("split", dim, self.dim());
  for (int64_t at = 0, n = self.size(dim); at < n || parts.empty(); at += split_size)
    parts.push_back(narrow(self, dim, at, std::min(split_size, n - at)));
  return parts;
}
std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  DY_CHECK(chunks > 0, "chunk: the number of chunks is not positive: chunks is {}", chunks);
  int64_t n = self.size(dim);
  return split(self, std::max<int64_t>((n + chunks - 1) / chunks, 1), dim);
}

}  // namespace dyadic::inline v1
