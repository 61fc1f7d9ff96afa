// What dyadic.prune is made of. python/dyadic/prune.py has the rest.
#include "dyadic/prune.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "calibration.h"
#include "dyadic/narrow.h"

namespace dyadic::inline v1::python {
namespace {

using namespace prune;

std::optional<Scope> scope_of(const std::optional<std::string>& word) {
  return word ? std::optional(parse_scope(*word)) : std::nullopt;
}

nb::tuple prune_model(nn::Module& model, const std::string& sparsity, const std::string& name,
                      const std::optional<std::string>& scope, nb::object calibration, std::vector<std::string> include,
                      std::vector<std::string> exclude) {
  std::optional<PythonCalibration> data;
  if (!calibration.is_none()) data.emplace(calibration);
  const Report r = prune::prune(model, {.sparsity = parse_sparsity(sparsity),
                                        .method = name,
                                        .scope = scope_of(scope),
                                        .calibration = data ? &*data : nullptr,
                                        .include = std::move(include),
                                        .exclude = std::move(exclude)});
  nb::list layers;
  for (const LayerReport& l : r.layers)
    layers.append(nb::make_tuple(l.name, l.sparsity, l.error, l.error_magnitude, l.seconds, l.fallback));
  return nb::make_tuple(layers, r.parameters, r.zeros, r.bytes);
}

}  // namespace

void add_prune(nb::module_& m) {
  nb::module_ p = m.def_submodule("_prune");
  p.def("methods", [] {
    nb::list all;
    for (const Method* method : prune::methods())
      all.append(nb::make_tuple(method->name, method->doc, method->source, method->needs_inputs));
    return all;
  });
  p.def(
      "matrix",
      [](const std::string& name, const Tensor& weight, std::optional<Tensor> inputs, const std::string& sparsity,
         const std::optional<std::string>& scope) {
        return prune_matrix(prune::method(name), weight, inputs.value_or(Tensor()), parse_sparsity(sparsity), scope_of(scope));
      },
      nb::arg("method"), nb::arg("weight"), nb::arg("inputs").none(), nb::arg("sparsity"), nb::arg("scope").none());
  p.def("prune", prune_model, nb::arg("model"), nb::arg("sparsity"), nb::arg("method"), nb::arg("scope").none(),
        nb::arg("calibration").none(), nb::arg("include"), nb::arg("exclude"));
  p.def(
      "narrowed",
      [](models::CausalLM& model, double channels, double heads, nb::object calibration) {
        std::optional<PythonCalibration> data;
        if (!calibration.is_none()) data.emplace(calibration);
        return narrowed(model, {.channels = channels, .heads = heads, .calibration = data ? &*data : nullptr}).ptr();
      },
      nb::arg("model"), nb::arg("channels"), nb::arg("heads"), nb::arg("calibration").none());
  nb::class_<Masks>(p, "Masks",
                    "Which weights of a module are zero, a bit each, so that they stay so while the others are trained.")
      .def(nb::init<nn::Module&>(), nb::arg("model"), "Of parameters of two dimensions or more, some of which are zero.")
      .def("apply", &Masks::apply, "Makes them zero again: after each step of an optimizer.")
      .def("zeros", &Masks::zeros, "How many there are.")
      .def("__len__", &Masks::size);
}

}  // namespace dyadic::inline v1::python
