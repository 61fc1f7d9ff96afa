// The questions a Tensor answers about itself; ops and autograd are defined in their own layers.
#include "dyadic/tensor.h"

#include <cmath>

#include "base/check.h"
#include "dyadic/cuda.h"
#include "formats/packed.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1 {

uint64_t Scalar::integer_within(int64_t low, uint64_t high) const {
  bool fits = im_ == 0;
  uint64_t value = uint64_t(i_);
  if (kind_ >= Kind::real) {
    const double whole = std::trunc(f_);
    fits &= whole >= double(low) && whole < double(high) + 1;  // false for NaN; 2^64 and 2^63 are exact
    value = !fits ? 0 : whole < 0 ? uint64_t(int64_t(whole)) : uint64_t(whole);
  } else {
    fits &= i_ < 0 && !unsigned_ ? i_ >= low : value <= high;
  }
  DY_CHECK(fits, "Scalar: value cannot be converted to an integer from {} to {} without overflow: it is {}", low, high, text());
  return value;
}
double Scalar::real_within(double high) const {
  const double value = real();
  DY_CHECK(im_ == 0, "Scalar: value cannot be converted to a real number without overflow: it is {}", text());
  DY_CHECK(!std::isfinite(value) || std::fabs(value) <= high,
           "Scalar: value cannot be converted to a number up to {} without overflow: it is {}", high, text());
  return value;
}
std::string Scalar::text() const {
  if (kind_ == Kind::complex) return fmt::format("{}{:+}j", f_, im_);
  if (kind_ == Kind::real) return fmt::format("{}", f_);
  return unsigned_ ? fmt::format("{}", uint64_t(i_)) : fmt::format("{}", i_);
}

Index::Index(const char* text) : kind(Kind::ellipsis) {
  DY_CHECK_AS(IndexError, text && std::string_view(text) == "...",
              "index: a text is no index: \"{}\"; only \"...\", the other dimensions, is one", text ? text : "");
}

namespace {
const TensorImpl& get(TensorImpl* p) {
  DY_CHECK(p, "tensor: it is undefined (default-constructed, or a gradient that was never computed); check defined() first");
  return *p;
}
}  // namespace

DType Tensor::dtype() const { return get(p_).dtype; }
Device Tensor::device() const { return get(p_).device(); }
int64_t Tensor::dim() const { return get(p_).ndim; }
int64_t Tensor::size(int64_t dim) const {
  const TensorImpl& t = get(p_);
  DY_CHECK_AS(IndexError, t.ndim > 0, "size: a 0-d tensor has no dimension {}", dim);
  return t.sizes[wrap_dim("size", dim, t.ndim)];
}
IntList Tensor::sizes() const { return get(p_).shape(); }
IntList Tensor::strides() const { return {get(p_).strides, size_t(p_->ndim)}; }
int64_t Tensor::stride(int64_t dim) const { return get(p_).strides[wrap_dim("stride", dim, p_->ndim)]; }
int64_t Tensor::storage_offset() const { return get(p_).offset; }
int64_t Tensor::numel() const { return get(p_).numel; }
bool Tensor::is_contiguous() const { return get(p_).contiguous(); }
uint32_t Tensor::version() const { return get(p_).storage->version.load(std::memory_order_relaxed); }

int64_t Tensor::nbytes() const {
  const TensorImpl& t = get(p_);
  if (!t.dtype.is_blocked()) return t.numel * t.dtype.itemsize();
  if (t.numel == t.storage->geometry.numel()) return t.storage->bytes;
  // A part of whole blocks: what a copy of it would take.
  Geometry g{t.ndim ? t.numel / std::max<int64_t>(t.sizes[t.ndim - 1], 1) : 1, t.ndim ? t.sizes[t.ndim - 1] : 1};
  return planes_of(*t.dtype.format(), g).bytes;
}

void* Tensor::data_ptr() const {
  const TensorImpl& t = get(p_);
  DY_CHECK_AS(ValueError, !t.device().is_meta(), "data_ptr: a meta tensor has a shape but no data; run on cpu to read values");
  settle_all();  // who gets it may write
  note_read(t);
  return t.data();
}

void* cuda::data_ptr(const Tensor& t) {
  DY_CHECK_AS(ValueError, t.device().is_cuda(), "cuda.data_ptr: the tensor is on {}", t.device().name());
  return t.impl()->place();
}

bool Tensor::requires_grad() const { return fresh(get(p_)).flags & kRequiresGrad; }
bool Tensor::is_leaf() const { return fresh(get(p_)).node == nullptr; }

}  // namespace dyadic::inline v1
