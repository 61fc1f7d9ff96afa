// What changes how ops run: recording, threads, the random generator; gradients as values; files of tensors.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "base/parallel.h"
#include "dyadic/autograd.h"
#include "dyadic/io.h"
#include "dyadic/ops.h"
#include "dyadic/print.h"
#include "object.h"
#include "ops/print.h"
#include "scopes.h"

namespace dyadic::inline v1::python {
namespace {

void record(bool on) { t_modes = on ? t_modes & ~uint32_t(kNoGrad) : t_modes | kNoGrad; }
bool set_grad_enabled(bool on) {
  const bool before = GradMode::enabled();
  record(on && !t_inference);
  return before;
}

// What restores the modes as they were: (recording, inference).
using Modes = std::pair<bool, bool>;
Modes enter_inference(bool on) {
  const Modes before{GradMode::enabled(), std::exchange(t_inference, on)};
  record(!on);
  return before;
}
void restore(Modes before) {
  record(before.first);
  t_inference = before.second;
}

struct DefaultScope : Entered<DefaultDType> {
  DType dtype;
};

std::vector<Tensor> tensors(nb::object o, const char* name) {
  std::vector<Tensor> out;
  auto put = [&](nb::handle h) {
    DY_CHECK_AS(TypeError, is_tensor(h.ptr()) || h.is_none(),
                "grad: an argument has the wrong type: {} holds {}; it takes Tensors", name, Py_TYPE(h.ptr())->tp_name);
    out.push_back(h.is_none() ? Tensor() : tensor_of(h.ptr()));
  };
  if (is_tensor(o.ptr()))
    put(o);
  else if (!o.is_none())
    for (nb::handle h : o) put(h);
  return out;
}

nb::tuple gradients(nb::object outputs, nb::object inputs, nb::object grad_outputs, std::optional<bool> retain_graph,
                    bool create_graph, bool allow_unused) {
  auto out = tensors(outputs, "outputs"), in = tensors(inputs, "inputs"), given = tensors(grad_outputs, "grad_outputs");
  std::vector<Tensor> result;
  {
    Unlocked unlocked;
    result = grad(out, in, given, retain_graph.value_or(create_graph), create_graph, allow_unused);
  }
  nb::list l;
  for (const Tensor& t : result) l.append(t);
  return nb::tuple(l);
}

bool check_gradient(nb::object function, nb::object inputs, double eps, double atol, double rtol) {
  auto f = [&](const std::vector<Tensor>& x) {
    nb::list args;
    for (const Tensor& t : x) args.append(t);
    return tensors(function(*nb::tuple(args)), "the result");
  };
  return gradcheck(f, tensors(inputs, "inputs"), eps, atol, rtol);
}

io::NamedTensors named(nb::dict tensors) {
  io::NamedTensors out;
  for (auto [k, v] : tensors) out.emplace_back(nb::cast<std::string>(k), nb::cast<Tensor>(v));
  return out;
}

}  // namespace

void add_modes(nb::module_& m) {
  auto none = nb::none();
  m.def("_set_grad_enabled", set_grad_enabled, nb::arg("mode"));
  m.def("_enter_inference", enter_inference, nb::arg("mode"));
  m.def("_leave_inference", restore, nb::arg("before"));
  m.def("is_inference_mode_enabled", &InferenceMode::is_enabled, "Whether an inference_mode is around this.");
  m.def("is_grad_enabled", &GradMode::enabled, "Whether operations of this thread are recorded for backward.");
  m.def("_grad", gradients, nb::arg("outputs"), nb::arg("inputs"), nb::arg("grad_outputs") = none,
        nb::arg("retain_graph") = none, nb::arg("create_graph") = false, nb::arg("allow_unused") = false,
        "d(sum of outputs . grad_outputs) / d(inputs) as a tuple; nothing is accumulated into .grad.");
  m.def("_gradcheck", check_gradient, nb::arg("func"), nb::arg("inputs"), nb::arg("eps") = 1e-6, nb::arg("atol") = 1e-5,
        nb::arg("rtol") = 1e-3,
        "Compares the gradient of func(*inputs), float64, with central differences; an error says where they differ.");

  m.def(
      "set_num_threads",
      [](int n) {
        DY_CHECK_AS(ValueError, n >= 1, "set_num_threads: it is not positive: n is {}", n);
        set_num_threads(n);
      },
      nb::arg("n"), "Results do not depend on it, only the time they take.");
  m.def("get_num_threads", &num_threads);
  m.def("isa", [] { return isa_name(); }, "The instruction set whose kernels run.");
  m.def("_print_as_torch", [] { set_printed_package("torch"); });
  m.def("set_default_dtype", [](DType d) { set_default_dtype(d); }, nb::arg("d"));
  m.def("get_default_dtype", &default_dtype);
  nb::class_<DefaultScope>(m, "_DefaultDType")
      .def("__init__", [](DefaultScope* s, DType d) { new (s) DefaultScope{{}, d}; })
      .def("enter", [](DefaultScope& s) { s.scopes.push_back(std::make_unique<DefaultDType>(s.dtype)); })
      .def("exit", &DefaultScope::exit);
  m.def(
      "set_printoptions",
      [](std::optional<int> precision, std::optional<int64_t> threshold, std::optional<int64_t> edgeitems,
         std::optional<int64_t> linewidth, std::optional<std::string> profile, nb::object sci_mode) {
        PrintOptions o = printoptions();
        if (profile) {
          DY_CHECK_AS(ValueError, *profile == "default" || *profile == "short" || *profile == "full",
                      "set_printoptions: no such profile: \"{}\"; there are default, short and full", *profile);
          o = PrintOptions();
          if (*profile == "short") o.precision = 2, o.edgeitems = 2;
          if (*profile == "full") o.threshold = INT64_MAX;
        }
        if (precision) o.precision = *precision;
        if (threshold) o.threshold = *threshold;
        if (edgeitems) o.edgeitems = *edgeitems;
        if (linewidth) o.linewidth = *linewidth;
        if (!sci_mode.is_none()) o.sci_mode = nb::cast<bool>(sci_mode);
        if (sci_mode.is_none()) o.sci_mode.reset();
        set_printoptions(o);
      },
      nb::arg("precision") = nb::none(), nb::arg("threshold") = nb::none(), nb::arg("edgeitems") = nb::none(),
      nb::arg("linewidth") = nb::none(), nb::arg("profile") = nb::none(), nb::arg("sci_mode") = nb::none(),
      "How tensors are printed: digits behind the point, elements from which only edges are shown, entries at an edge, "
      "columns, "
      "scientific notation always or never (None: where the values ask for it). profile: \"default\", \"short\" or \"full\".");
  m.def("promote_types", &promote_types, nb::arg("type1"), nb::arg("type2"));

  m.def(
      "_save",
      [](nb::dict t, const std::string& path, const io::Metadata& metadata) {
        auto list = named(t);
        Unlocked unlocked;
        io::save_safetensors(path, list, metadata);
      },
      nb::arg("tensors"), nb::arg("path"), nb::arg("metadata"),
      "Writes a dict of tensors as a safetensors file, whole or not at all. Scaled tensors keep their bits.");
  m.def(
      "_load",
      [](const std::string& path) {
        nb::dict d;
        io::SafeTensors file = io::load_safetensors(path);
        for (auto& [name, t] : file.tensors) d[name.c_str()] = t;
        return nb::make_tuple(d, file.metadata);
      },
      nb::arg("path"), "The tensors of a safetensors file as a dict, and its metadata.");
}

}  // namespace dyadic::inline v1::python
