// dyadic.amp: autocast scopes and PyTorch's switches beside them, what ran in which precision, the scales of f8 training.
#include "dyadic/amp.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "object.h"
#include "scopes.h"

namespace dyadic::inline v1::python {
namespace {

struct AutocastScope : Entered<Autocast> {
  DType dtype;
  bool enabled, cache;
  nb::object scaling;  // or None

  void enter() {
    scopes.push_back(
        std::make_unique<Autocast>(dtype, enabled, cache, scaling.is_none() ? nullptr : nb::cast<DelayedScaling*>(scaling)));
  }
};

nb::list report() {
  nb::list l;
  for (const AutocastCalls& c : Autocast::report()) {
    nb::dict d;
    nb::list given;
    given.append(nb::steal(wrap(c.given)));
    if (c.and_given) given.append(nb::steal(wrap(c.and_given)));
    d["op"] = c.op;
    d["ran"] = nb::steal(wrap(c.ran));
    d["given"] = nb::tuple(given);
    d["calls"] = c.calls;
    d["casts"] = c.casts;
    d["cached"] = c.cached;
    d["why"] = c.why;
    l.append(d);
  }
  return l;
}

void add_scaling(nb::module_& m) {
  nb::class_<DelayedScaling>(
      m, "DelayedScaling",
      "The scales of f8 training: of each linear layer's input, weight and gradient the largest absolute values of the last "
      "amax_history_len steps, and the scale that follows from the largest of them (\"max\") or the last (\"most_recent\").")
      .def(
          "__init__",
          [](DelayedScaling* self, int margin, int history, const std::string& algorithm) {
            DY_CHECK_AS(ValueError, algorithm == "max" || algorithm == "most_recent",
                        "DelayedScaling: no such algorithm: amax_compute_algo is \"{}\"; there are max and most_recent",
                        algorithm);
            new (self) DelayedScaling({.history = history, .margin = margin, .most_recent = algorithm == "most_recent"});
          },
          nb::arg("margin") = 0, nb::arg("amax_history_len") = 16, nb::arg("amax_compute_algo") = "max")
      .def("state_dict",
           [](DelayedScaling& s) {
             nb::dict d;
             for (auto& [name, t] : s.state_dict()) d[name.c_str()] = t;
             return d;
           })
      .def(
          "load_state_dict",
          [](DelayedScaling& s, nb::dict state) {
            std::vector<std::pair<std::string, Tensor>> named;
            for (auto [k, v] : state) named.emplace_back(nb::cast<std::string>(k), nb::cast<Tensor>(v));
            s.load_state_dict(named);
          },
          nb::arg("state_dict"));
}

}  // namespace

void add_amp(nb::module_& m) {
  add_scaling(m);
  nb::class_<AutocastScope>(m, "_Autocast")
      .def(
          "__init__",
          [](AutocastScope* s, DType dtype, bool enabled, bool cache, nb::object scaling) {
            new (s) AutocastScope();
            s->dtype = dtype;
            s->enabled = enabled;
            s->cache = cache;
            s->scaling = std::move(scaling);
          },
          nb::arg("dtype"), nb::arg("enabled"), nb::arg("cache"), nb::arg("scaling").none())
      .def("enter", &AutocastScope::enter)
      .def("exit", &AutocastScope::exit);
  m.def("_autocast_enabled", &Autocast::enabled);
  m.def("_set_autocast_enabled", &Autocast::set_enabled, nb::arg("enabled"));
  m.def("_autocast_dtype", &Autocast::dtype);
  m.def("_set_autocast_dtype", &Autocast::set_dtype, nb::arg("dtype"));
  m.def("is_autocast_cache_enabled", &Autocast::cache_enabled, "Whether casts of weights are kept in an autocast region.");
  m.def("set_autocast_cache_enabled", &Autocast::set_cache_enabled, nb::arg("enabled"));
  m.def("clear_autocast_cache", &Autocast::clear_cache, "Forgets the casts of weights.");
  m.def("_autocast_report", report);
  m.def("_autocast_report_text", &Autocast::report_text);
  m.def("_clear_autocast_report", &Autocast::clear_report);
}

}  // namespace dyadic::inline v1::python
