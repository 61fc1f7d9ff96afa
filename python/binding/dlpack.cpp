// DLPack: memory shared with other tensor libraries, bfloat16 and the formats of 8 bits included.
#include <nanobind/ndarray.h>

#include "object.h"

namespace dyadic::inline v1::python {
namespace {

using Foreign = nb::ndarray<>;
constexpr auto kFloat = uint8_t(nb::dlpack::dtype_code::Float), kInt = uint8_t(nb::dlpack::dtype_code::Int),
               kUInt = uint8_t(nb::dlpack::dtype_code::UInt), kBfloat = uint8_t(nb::dlpack::dtype_code::Bfloat),
               kBool = uint8_t(nb::dlpack::dtype_code::Bool), kComplex = uint8_t(nb::dlpack::dtype_code::Complex);
// Codes of DLPack 1.1, dlpack.h's kDLFloat8_...
constexpr uint8_t kE3m4 = 7, kE4m3fn = 10, kE4m3fnuz = 11, kE5m2 = 12, kE5m2fnuz = 13, kE8m0fnu = 14;
struct Pair {
  DType ours;
  nb::dlpack::dtype theirs;
};
constexpr Pair kPairs[] = {{f64, {kFloat, 64, 1}},       {f32, {kFloat, 32, 1}},
                           {f16, {kFloat, 16, 1}},       {bf16, {kBfloat, 16, 1}},
                           {i64, {kInt, 64, 1}},         {i32, {kInt, 32, 1}},
                           {i16, {kInt, 16, 1}},         {i8, {kInt, 8, 1}},
                           {u8, {kUInt, 8, 1}},          {u16, {kUInt, 16, 1}},
                           {u32, {kUInt, 32, 1}},        {u64, {kUInt, 64, 1}},
                           {boolean, {kBool, 8, 1}},     {c64, {kComplex, 64, 1}},
                           {c128, {kComplex, 128, 1}},   {f8e3m4, {kE3m4, 8, 1}},
                           {f8e4m3fn, {kE4m3fn, 8, 1}},  {f8e4m3fnuz, {kE4m3fnuz, 8, 1}},
                           {f8e5m2, {kE5m2, 8, 1}},      {f8e5m2fnuz, {kE5m2fnuz, 8, 1}},
                           {f8e8m0fnu, {kE8m0fnu, 8, 1}}};

// stream, max_version and dl_device are hints of the protocol that change nothing here: the unversioned capsule is always
// legal.
nb::object export_capsule(nb::handle self, nb::kwargs options) {
  if (options.contains("copy") && nb::handle(options["copy"]).ptr() == Py_True) {
    nb::object copy = nb::steal(wrap(tensor_of(self.ptr()).clone()));
    return export_capsule(copy, nb::kwargs());
  }
  const Tensor& t = tensor_of(self.ptr());
  const TensorImpl& i = *t.impl();
  DY_CHECK_AS(TypeError, !t.requires_grad(), "__dlpack__: the tensor requires grad; detach() it first: self is {}",
              describe(t));
  DY_CHECK_AS(TypeError, t.device().is_cpu(), "__dlpack__: the data is not in the CPU's memory: self is {} on {}; use .cpu()",
              describe(t), t.device().name());
  check_writable("__dlpack__", t);  // who takes it may write
  for (const Pair& p : kPairs)
    if (p.ours == i.dtype) {
      size_t sizes[kMaxDims];
      for (int d = 0; d < i.ndim; ++d) sizes[d] = size_t(i.sizes[d]);
      i.storage->lent = true;
      Foreign a(t.data_ptr(), i.ndim, sizes, self, i.strides, p.theirs);
      return nb::cast(a);
    }
  fail<TypeError>("__dlpack__: DLPack has no such dtype: self is {}; convert it first", describe(t));
}

void drop(void* context) {
  if (!Py_IsInitialized()) return;
  nb::gil_scoped_acquire gil;
  delete static_cast<Foreign*>(context);
}

Tensor import_array(Foreign a) {
  DY_CHECK_AS(ValueError, a.device_type() == nb::device::cpu::value, "from_dlpack: the data is not in the CPU's memory");
  DY_CHECK_AS(ValueError, a.ndim() <= kMaxDims, "from_dlpack: too many dimensions: {} given; at most {}", a.ndim(), kMaxDims);
  int64_t sizes[kMaxDims], strides[kMaxDims], extent = 1;
  for (size_t d = 0; d < a.ndim(); ++d) {
    sizes[d] = int64_t(a.shape(d));
    strides[d] = a.stride(d);
    DY_CHECK_AS(ValueError, strides[d] >= 0, "from_dlpack: a stride is negative: {} in dimension {}; copy the array",
                strides[d], d);
    extent = sizes[d] == 0 || extent == 0 ? 0 : extent + (sizes[d] - 1) * strides[d];
  }
  for (const Pair& p : kPairs)
    if (p.theirs == a.dtype()) {
      int64_t flat[] = {extent};
      void* data = a.data();
      size_t n = a.ndim();
      Tensor memory = make_foreign(data, flat, p.ours, drop, new Foreign(std::move(a)));
      return make_view(memory, {sizes, n}, {strides, n}, 0);
    }
  fail<TypeError>("from_dlpack: no dtype for elements of code {} and {} bits", a.dtype().code, a.dtype().bits);
}

}  // namespace

void add_dlpack(nb::module_& m) {
  m.def("from_dlpack", import_array, nb::arg("array"),
        "A tensor over the memory of another library's array, by the DLPack protocol. Nothing is copied.");
  nb::handle type(reinterpret_cast<PyObject*>(tensor_type));
  nb::cpp_function_def(export_capsule, nb::scope(type), nb::name("__dlpack__"), nb::is_method(),
                       "A DLPack capsule of this memory.");
  nb::cpp_function_def([](nb::handle) { return nb::make_tuple(int(nb::device::cpu::value), 0); }, nb::scope(type),
                       nb::name("__dlpack_device__"), nb::is_method());
}

}  // namespace dyadic::inline v1::python
