// dyadic.quasirandom: what SobolEngine is made of.
#include "dyadic/quasirandom.h"

#include <nanobind/stl/optional.h>

#include "object.h"

namespace dyadic::inline v1::python {

using quasirandom::SobolEngine;

void add_quasirandom(nb::module_& m) {
  nb::class_<SobolEngine>(m, "_SobolEngine")
      .def(nb::init<int64_t, bool, std::optional<uint64_t>>(), nb::arg("dimension"), nb::arg("scramble"),
           nb::arg("seed") = nb::none())
      .def(
          "draw", [](SobolEngine& e, int64_t n) { return e.draw(n, f64); }, nb::arg("n"))
      .def(
          "draw_base2", [](SobolEngine& e, int64_t m) { return e.draw_base2(m, f64); }, nb::arg("m"))
      .def(
          "fast_forward", [](SobolEngine& e, int64_t n) { e.fast_forward(n); }, nb::arg("n"))
      .def("reset", [](SobolEngine& e) { e.reset(); })
      .def("copy", [](const SobolEngine& e) { return SobolEngine(e); })
      .def_prop_ro("num_generated", &SobolEngine::num_generated)
      .def_static("largest", [] { return SobolEngine::kMaxDim; });
}

}  // namespace dyadic::inline v1::python
