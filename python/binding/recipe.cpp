// The part of dyadic.study.Recipe that is C++'s.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "dyadic/study.h"
#include "object.h"
#include "study/recipe_apply.h"

namespace dyadic::inline v1::python {

using study::Recipe;
using Modules = std::vector<std::pair<std::string, DType>>;

void add_recipe(nb::module_& t) {
  nb::class_<Recipe>(t, "Recipe", "The part of dyadic.study.Recipe that is C++'s.")
      .def(
          "__init__",
          [](Recipe* self, DType parameters, std::optional<DType> compute, DType states, std::string rounding, bool scaler,
             Modules modules, std::string name, std::string doc) {
            Recipe r{std::move(name), std::move(doc),      parameters, compute.value_or(DType()),
                     scaler,          std::move(rounding), states,     std::move(modules)};
            study::check_recipe(r);
            new (self) Recipe(std::move(r));
          },
          nb::arg("parameters"), nb::arg("compute").none(), nb::arg("states"), nb::arg("rounding"), nb::arg("scaler"),
          nb::arg("modules"), nb::arg("name"), nb::arg("doc"))
      .def_ro("name", &Recipe::name)
      .def_ro("doc", &Recipe::doc)
      .def_ro("parameters", &Recipe::parameters)
      .def_prop_ro("compute", [](const Recipe& r) { return r.compute ? std::optional(r.compute) : std::nullopt; })
      .def_ro("states", &Recipe::states)
      .def_ro("rounding", &Recipe::rounding)
      .def_ro("scaler", &Recipe::scaler)
      .def_ro("modules", &Recipe::modules);
  t.def(
      "check_dtype",
      [](const std::string& what, const std::string& name) {
        try {
          DType::parse(name);
        } catch (const ValueError& e) { fail<ValueError>("{} is \"{}\": {}", what, name, e.what()); }
      },
      nb::arg("what"), nb::arg("name"), "ValueError that names the argument.");
  t.def("recipes", [] { return study::recipes(); });
  t.def("recipe", [](const std::string& name) { return study::recipe(name); }, nb::arg("name"));
}

}  // namespace dyadic::inline v1::python
