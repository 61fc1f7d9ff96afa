// finfo and iinfo; the precision of products.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "dyadic/finfo.h"
#include "dyadic/precision.h"
#include "object.h"

namespace dyadic::inline v1::python {
namespace {

DType dtype_argument(nb::object given, const char* who) {
  if (given.is_none()) return default_dtype();
  const auto d = read_dtype(given.ptr());
  DY_CHECK_AS(TypeError, d, "{}: dtype is a dtype or its name, not {}", who, Py_TYPE(given.ptr())->tp_name);
  return *d;
}

}  // namespace

void add_limits(nb::module_& m) {
  m.attr("tf32") = "tf32";  // for round_to
  m.def("set_float32_matmul_precision", set_float32_matmul_precision, nb::arg("precision"),
        "How f32 matrices are multiplied: highest, high (operands rounded to tf32), medium (to bf16).");
  m.def("get_float32_matmul_precision", get_float32_matmul_precision);
  const auto name = [](const auto& i) { return i.dtype.long_name(); };
  nb::class_<FInfo>(m, "finfo", "finfo(dtype): the limits of a floating-point dtype; the default dtype's without an argument.")
      .def(
          "__init__", [](FInfo* self, nb::object d) { new (self) FInfo(finfo(dtype_argument(d, "finfo"))); },
          nb::arg("dtype") = nb::none())
      .def_ro("bits", &FInfo::bits)
      .def_ro("resolution", &FInfo::resolution)
      .def_ro("min", &FInfo::min)
      .def_ro("max", &FInfo::max)
      .def_ro("eps", &FInfo::eps)
      .def_ro("smallest_normal", &FInfo::smallest_normal)
      .def_ro("tiny", &FInfo::smallest_normal)
      .def_ro("smallest_subnormal", &FInfo::smallest_subnormal)
      .def_prop_ro("dtype", [name](const FInfo& i) { return name(i); })
      .def("__repr__", &FInfo::str);
  nb::class_<IInfo>(m, "iinfo", "iinfo(dtype): the limits of an integer dtype.")
      .def(
          "__init__", [](IInfo* self, nb::object d) { new (self) IInfo(iinfo(dtype_argument(d, "iinfo"))); }, nb::arg("dtype"))
      .def_ro("bits", &IInfo::bits)
      .def_ro("min", &IInfo::min)
      .def_ro("max", &IInfo::max)
      .def_prop_ro("dtype", [name](const IInfo& i) { return name(i); })
      .def("__repr__", &IInfo::str);
}

}  // namespace dyadic::inline v1::python
