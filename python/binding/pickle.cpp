// A tensor's memory as bytes, and a tensor from them: what pickle keeps.
#include <nanobind/stl/vector.h>

#include <cstring>

#include "formats/packed.h"
#include "object.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::python {
namespace {

int64_t memory_of(const Tensor& t) {
  return t.dtype().is_scaled() ? planes_of(*t.dtype().format(), t.impl()->storage->geometry).buffer_bytes
                               : t.numel() * t.dtype().itemsize();
}

nb::bytes tensor_bytes(const Tensor& t) {
  DY_CHECK_AS(ValueError, !t.is_meta(), "pickle: a meta tensor has no values: self is {}", describe(t));
  const Tensor here = t.detach().to(cpu), own = t.dtype().is_scaled() ? here : here.contiguous();
  if (t.dtype().is_scaled()) {
    const Tensor whole = make_tensor(t.sizes(), t.dtype(), meta);
    const Geometry a = own.impl()->storage->geometry, b = whole.impl()->storage->geometry;
    DY_CHECK_AS(ValueError, a.rows == b.rows && a.cols == b.cols && own.is_contiguous() && own.storage_offset() == 0,
                "pickle: a view of a scaled tensor cannot be stored alone: self is {}; clone() it", describe(t));
    return nb::bytes(own.impl()->storage->data, size_t(memory_of(own)));
  }
  return nb::bytes(own.data_ptr(), size_t(memory_of(own)));
}

Tensor tensor_from_bytes(nb::bytes bytes, const std::vector<int64_t>& sizes, DType dtype) {
  Tensor t = make_tensor(sizes, dtype, cpu);
  DY_CHECK_AS(ValueError, memory_of(t) == int64_t(bytes.size()), "pickle: {} bytes for {}, which has {}", bytes.size(),
              describe(t), memory_of(t));
  std::memcpy(dtype.is_scaled() ? t.impl()->storage->data : t.data_ptr(), bytes.c_str(), bytes.size());
  return t;
}

}  // namespace

void add_torch_files(nb::module_& m);   // torch_files.cpp
void add_tensor_files(nb::module_& m);  // tensor_files.cpp

void add_pickle(nb::module_& m) {
  add_torch_files(m);
  add_tensor_files(m);
  m.def("_tensor_bytes", tensor_bytes);
  m.def("_tensor_from_bytes", tensor_from_bytes);
}

}  // namespace dyadic::inline v1::python
