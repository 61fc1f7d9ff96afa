// What a kernel is told of a tensor: format and geometry, and, once it runs, where it lies. No handle, no storage, no count of
// references: an Operand can be kept in a plan and meet other memory at each run.
#pragma once
#include "tensor/impl.h"

namespace dyadic::inline v1 {

struct Operand {
  const Format* format = nullptr;  // null: there is none
  int ndim = 0;
  bool dense = true;                           // contiguous
  int64_t count = 0;                           // elements
  int64_t offset = 0;                          // blocked formats: the first element, in storage order
  Geometry geometry{};                         // and the storage; Note [Scaled views] in impl.h
  int64_t lengths[kMaxDims], steps[kMaxDims];  // sizes, and strides in elements

  Operand() = default;
  Operand(IntList sizes, DType dtype);  // dense
  explicit Operand(const TensorImpl& t) : format(t.dtype.format()), ndim(t.ndim), dense(t.contiguous()), count(t.numel) {
    for (int d = 0; d < ndim; ++d) lengths[d] = t.sizes[d], steps[d] = t.strides[d];
    if (format->is_blocked()) offset = t.offset, geometry = t.storage->geometry;
  }

  // A tensor's names for the same.
  bool defined() const { return format; }
  DType dtype() const { return DType(format); }
  IntList sizes() const { return {lengths, size_t(ndim)}; }
  IntList strides() const { return {steps, size_t(ndim)}; }
  int64_t dim() const { return ndim; }
  int64_t size(int64_t d) const { return lengths[d < 0 ? d + ndim : d]; }
  int64_t stride(int64_t d) const { return steps[d < 0 ? d + ndim : d]; }
  int64_t numel() const { return count; }
  int64_t itemsize() const { return format->itemsize(); }
  bool is_contiguous() const { return dense; }
  void reshape(IntList sizes);  // of a dense one, which is then seen with other sizes
};

// The same, borrowed from whoever has it for the length of a call.
struct Form {
  const Format* format;
  int ndim;
  bool dense;
  int64_t numel;
  const int64_t *sizes, *strides;
  Form(const TensorImpl& t)
      : format(t.dtype.format()), ndim(t.ndim), dense(t.contiguous()), numel(t.numel), sizes(t.sizes), strides(t.strides) {}
  Form(const Operand& o) : format(o.format), ndim(o.ndim), dense(o.dense), numel(o.count), sizes(o.lengths), strides(o.steps) {}
};

// An operand and its memory: the first element; of blocked formats the storage.
struct Array : Operand {
  char* at = nullptr;

  Array() = default;
  Array(const Operand& o, void* at) : Operand(o), at(static_cast<char*>(at)) {}
  Array(const Operand& o, const void* at) : Array(o, const_cast<void*>(at)) {}
  Array(IntList sizes, DType dtype, void* at) : Operand(sizes, dtype), at(static_cast<char*>(at)) {}
  explicit Array(const Tensor& t) : Array(Operand(*t.impl()), t.impl()->place()) {}
  template <class T> T* data() const { return reinterpret_cast<T*>(at); }

  // Views, `offset` in elements from the first. Of blocked formats too.
  Array view(IntList sizes, IntList strides, int64_t offset = 0) const;
  Array select(int64_t dim, int64_t index) const;
  Array narrow(int64_t dim, int64_t start, int64_t length) const;
  Array transposed(int64_t a, int64_t b) const;
};

}  // namespace dyadic::inline v1
