// What func.vmap is made of.
#include "dyadic/vmap.h"

#include "object.h"
#include "tensor/batched.h"

namespace dyadic::inline v1::python {

void add_vmap(nb::module_& m) {
  nb::class_<Entries>(m, "_Entries")
      .def(
          "__init__",
          [](Entries* e, int64_t count, const std::string& randomness) {
            new (e) Entries(count, randomness == "same"        ? Randomness::same
                                   : randomness == "different" ? Randomness::different
                                                               : Randomness::error);
          },
          nb::arg("count"), nb::arg("randomness"))
      .def("enter", &Entries::enter, nb::arg("x"), nb::arg("dim"))
      .def("leave", &Entries::leave, nb::arg("t"), nb::arg("dim"))
      .def("holds", &Entries::holds, nb::arg("t"))
      .def("end", &Entries::end);
  m.def("_is_batched", [](const Tensor& t) { return entries_of(t) != nullptr; }, nb::arg("t"));
}

}  // namespace dyadic::inline v1::python
