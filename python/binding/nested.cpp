// dyadic.nested: what dyadic/nested.py's tensors hold.
#include "dyadic/nested.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "object.h"

namespace dyadic::inline v1::python {

void add_nested(nb::module_& m) {
  nb::class_<NestedTensor>(m, "_NestedParts")
      .def(nb::init<std::vector<Tensor>>(), nb::arg("parts"))
      .def("unbind", [](const NestedTensor& n) { return nb::tuple(nb::cast(n.unbind())); })
      .def("size", &NestedTensor::size, nb::arg("dim"))
      .def("values", &NestedTensor::values)
      .def("offsets", &NestedTensor::offsets)
      .def_prop_ro("dim", &NestedTensor::dim)
      .def_prop_ro("numel", &NestedTensor::numel)
      .def(
          "to_padded_tensor",
          [](const NestedTensor& n, double padding, nb::handle size) {
            if (size.is_none()) return n.to_padded_tensor(padding);
            const auto sizes = nb::cast<std::vector<int64_t>>(size);
            return n.to_padded_tensor(padding, IntList(sizes));
          },
          nb::arg("padding"), nb::arg("output_size") = nb::none())
      .def("__str__", &NestedTensor::str);
  m.def(
      "_nested_from_jagged",
      [](const Tensor& values, const Tensor& offsets, nb::handle lengths) {
        return nested_tensor_from_jagged(values, offsets, lengths.is_none() ? Tensor() : nb::cast<Tensor>(lengths));
      },
      nb::arg("values"), nb::arg("offsets"), nb::arg("lengths") = nb::none());
}

}  // namespace dyadic::inline v1::python
