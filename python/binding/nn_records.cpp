// Layers that are records (dyadic/nn_layers.h): one class for all; python/dyadic/nn/_layers.py derives a class per record from
// it.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <deque>
#include <map>

#include "arguments.h"
#include "dyadic/nn_layers.h"
#include "dyadic/numbers.h"
#include "nn.h"

namespace dyadic::inline v1::python {
namespace {

using nn::Layer;
using nn::LayerDef;

// What reads arguments by a signature: those of an op of that signature.
const OpInfo& info_of(const char* sig, const Signature& signature) {
  static std::map<const char*, OpInfo> all;
  static std::deque<OpDef> ops;
  OpInfo& info = all[sig];
  if (info.def) return info;
  OpDef op{};
  op.sig = sig;
  info.def = &ops.emplace_back(op);
  info.signature = &signature;
  read_parameters(info);
  return info;
}
const OpInfo& info_of(const LayerDef& def) {
  static std::map<const LayerDef*, Signature> signatures;
  auto it = signatures.find(&def);
  if (it == signatures.end())
    it = signatures.emplace(&def, parse_signature((std::string(def.sig) + " -> Tensor").c_str())).first;
  return info_of(def.sig, it->second);
}

void read(ArgumentFrame& frame, const OpInfo& info, nb::tuple positional, nb::dict named) {
  std::vector<PyObject*> given;
  for (nb::handle v : positional) given.push_back(v.ptr());
  nb::list names;
  for (auto [key, value] : named) {
    names.append(key);
    given.push_back(value.ptr());
  }
  nb::tuple keywords(names);
  frame.read(info, nullptr, given.data(), Py_ssize_t(positional.size()), names.size() ? keywords.ptr() : nullptr);
}

void make(nb::pointer_and_handle<Layer> self, const std::string& name, nb::tuple positional, nb::dict named, nb::object dtype,
          nb::object device) {
  const LayerDef& def = nn::layer_def(name);
  const OpInfo& info = info_of(def);
  ArgumentFrame frame;
  frame.truth = true;
  read(frame, info, positional, named);
  construct(self, def, std::span<const Arg>(frame.args, info.parameters.size()), read_options(dtype, device));
}

nb::object as_python(const Arg& a) {
  switch (a.kind) {
    case Arg::Kind::integer:
      return nb::cast(a.integer);
    case Arg::Kind::real:
      return nb::cast(a.real);
    case Arg::Kind::boolean:
      return nb::cast(a.boolean);
    case Arg::Kind::text:
      return nb::str(a.text, a.n);
    case Arg::Kind::ints: {
      nb::list l;
      for (uint32_t i = 0; i < a.n; ++i) l.append(a.ints[i]);
      return nb::tuple(l);
    }
    default:
      return nb::none();
  }
}
void assign(Layer& layer, size_t i, nb::handle value) {
  const OpInfo& info = info_of(layer.def());
  PyObject* given[] = {value.ptr()};
  nb::tuple keyword = nb::make_tuple(nb::str(info.parameters.at(i).text));
  OpInfo one = info;  // of this parameter alone
  one.parameters = {info.parameters[i]};
  one.positional = 1;
  ArgumentFrame frame;
  frame.truth = true;
  frame.read(one, nullptr, given, 1, nullptr);
  layer.set_argument(i, frame.args[0]);
}

nb::object forward_by_signature(Layer& layer, nb::args inputs, nb::kwargs named) {
  const OpInfo& info = info_of(layer.def().forward, *layer.forward_signature());
  ArgumentFrame frame;
  read(frame, info, inputs, named);
  std::vector<Tensor> out = layer.call_args({frame.args, info.parameters.size()});
  if (info.signature->returns.size() == 1) return nb::cast(out[0]);
  nb::list all;
  for (Tensor& t : out) all.append(t);
  return nb::tuple(all);
}
// A list of integers is a tensor of them: of lengths, as CTCLoss takes them.
Tensor read_input(const Layer& layer, nb::handle o) {
  if (PyList_Check(o.ptr()) || PyTuple_Check(o.ptr())) {
    std::vector<int64_t> lengths;
    if (nb::try_cast(o, lengths)) return dyadic::tensor(lengths, i64);
  }
  DY_CHECK_AS(TypeError, o.is_none() || is_tensor(o.ptr()), "{}: an input has the wrong type: it is {}; it takes Tensors",
              layer.kind(), Py_TYPE(o.ptr())->tp_name);
  return o.is_none() ? Tensor() : tensor_of(o.ptr());
}
nb::object forward(nb::handle self, nb::args inputs, nb::kwargs named) {
  auto& layer = nb::cast<Layer&>(self);
  if (const nb::object f = other_conv_forward(self); f.is_valid()) {
    const bool by_name = inputs.size() == 0 && named.contains("input");
    const nb::object input = by_name ? nb::object(named["input"]) : nb::object(inputs[0]);
    return f(input, self.attr("weight"), self.attr("bias"));
  }
  if (layer.def().forward) return forward_by_signature(layer, inputs, named);
  std::vector<Tensor> tensors;
  for (nb::handle o : inputs) tensors.push_back(read_input(layer, o));
  if (named.size() == 0) return nb::cast(layer.run(tensors));
  const std::vector<std::string> names = layer.input_names();
  for (auto [key, value] : named) {
    const auto name = nb::cast<std::string>(key);
    const auto found = name == "input" ? names.begin() : std::find(names.begin(), names.end(), name);
    const auto at = size_t(found - names.begin());
    DY_CHECK_AS(TypeError, at < names.size(), "{}: unknown input {}; it takes {}", layer.kind(), name, fmt::join(names, ", "));
    DY_CHECK_AS(TypeError, at >= inputs.size(), "{}: {} is given twice", layer.kind(), name);
    if (tensors.size() <= at) tensors.resize(at + 1);
    tensors[at] = read_input(layer, value);
  }
  return nb::cast(layer.run(tensors));
}

nb::list records() {
  nb::list all;
  for (const LayerDef* def : nn::layer_defs()) {
    const OpInfo& info = info_of(*def);
    nb::dict d;
    nb::list parameters;
    for (const Parameter& p : info.signature->parameters) parameters.append(nb::make_tuple(p.name, p.type, p.fallback));
    d["name"] = info.signature->name;
    d["signature"] = def->sig;
    d["doc"] = def->doc;
    d["op"] = def->op ? nb::object(nb::str(def->op)) : nb::object(nb::none());
    d["rank"] = def->rank;
    d["trained"] = def->make != nullptr;
    d["parameters"] = parameters;
    all.append(d);
  }
  return all;
}

}  // namespace

const LayerDef& layer_def_of(nb::handle self) {
  const nb::object name = nb::getattr(self.type(), "_layer_name", nb::none());
  DY_CHECK_AS(TypeError, !name.is_none(), "{}: nn.Module.__init__ does not say which layer it is: derive from Conv2d, LSTM ...",
              Py_TYPE(self.ptr())->tp_name);
  return nn::layer_def(nb::cast<std::string>(name));
}

void add_layer_records(nb::module_& m) {
  bind<Layer>(m, "_Layer", "A layer made from a record.")
      .def("__init__", make, nb::arg("name"), nb::arg("args"), nb::arg("kwargs"), nb::arg("dtype") = nb::none(),
           nb::arg("device") = nb::none())
      .def("forward", forward)
      .def("_argument",
           [](Layer& l, size_t i) {
             if (!l.is_set(i))
               throw nb::attribute_error(
                   fmt::format("'{}' object has no attribute '{}'", l.kind(), l.signature().parameters[i].name).c_str());
             return as_python(l.argument(i));
           })
      .def_prop_ro("_record", [](Layer& l) { return l.signature().name; })
      .def("_arguments",
           [](Layer& l) {
             nb::list all;
             for (size_t i = 0; i < l.signature().parameters.size(); ++i) all.append(as_python(l.argument(i)));
             return nb::tuple(all);
           })
      .def("_set_argument", assign, nb::arg("i"), nb::arg("value").none());
  m.def("_layer_records", records);
}

}  // namespace dyadic::inline v1::python
