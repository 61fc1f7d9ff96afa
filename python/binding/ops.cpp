// One Python function, and where it makes sense a method and an in-place method, for every op record. They are CPython's own
// builtin functions and method descriptors, so that calls take the interpreter's fast path and help() knows what to do.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <algorithm>

#include <array>
#include <utility>

#include "arguments.h"
#include "overrides.h"

namespace dyadic::inline v1::python {

std::array<PyObject*, size_t(kOps)> g_functions, g_in_place_functions;

namespace {

std::array<OpInfo, size_t(kOps)> g_ops;

// Several results: a tuple, a named one where the signature names them (values, indices), as torch.return_types.
PyObject* results(const OpInfo& op, Tensor* out) {
  PyObject* all = op.result_type ? PyStructSequence_New(op.result_type) : PyTuple_New(op.outputs);
  if (!all) throw PythonError();
  for (int i = 0; i < op.outputs; ++i) {
    PyObject* item = wrap(std::move(out[i]));
    op.result_type ? PyStructSequence_SetItem(all, i, item) : PyTuple_SET_ITEM(all, i, item);
  }
  return all;
}
PyObject* list_of(std::vector<Tensor> tensors) {
  PyObject* all = PyTuple_New(Py_ssize_t(tensors.size()));
  if (!all) throw PythonError();
  for (size_t i = 0; i < tensors.size(); ++i) PyTuple_SET_ITEM(all, Py_ssize_t(i), wrap(std::move(tensors[i])));
  return all;
}

// Into the tensors of out=, which are the result: one, or as many as the op has.
PyObject* run_into(const OpInfo& op, ArgumentFrame& frame) {
  std::vector<Tensor> out;
  if (is_tensor(frame.out)) {
    out.push_back(tensor_of(frame.out));
  } else {
    DY_CHECK_AS(TypeError, PyTuple_Check(frame.out) || PyList_Check(frame.out),
                "{}: an argument has the wrong type: out is {}; it takes {}", op.signature->name, Py_TYPE(frame.out)->tp_name,
                op.outputs == 1 ? "a Tensor" : "a tuple of Tensors");
    for (nb::handle h : nb::handle(frame.out)) {
      DY_CHECK_AS(TypeError, is_tensor(h.ptr()), "{}: an argument has the wrong type: out holds {}; it takes Tensors",
                  op.signature->name, Py_TYPE(h.ptr())->tp_name);
      out.push_back(tensor_of(h.ptr()));
    }
  }
  run_op_out(op.id, frame.args, int(op.parameters.size()), out);
  return op.outputs == 1 ? wrap(out[0]) : results(op, out.data());
}

PyObject* run(const OpInfo& op, ArgumentFrame& frame) {
  const int n = int(op.parameters.size());
  std::optional<GeneratorScope> scope;
  if (frame.generator) scope.emplace(*frame.generator);
  if (frame.out) return run_into(op, frame);
  if (op.signature->returns_list()) return list_of(run_op_all(op.id, frame.args, n));
  Tensor out[kMaxOutputs];
  run_op(op.id, frame.args, n, out);
  if (op.outputs != 1) return results(op, out);
  if (frame.requires_grad) out[0].requires_grad_();
  return wrap(std::move(out[0]));
}

// The common call, 60 ns shorter: only tensors, given by position, the keywords left at their defaults. Null without an error:
// it is not one of these.
inline PyObject* call_tensors(const OpInfo& op, PyObject* self, PyObject* const* given, Py_ssize_t n) {
  Arg args[kMaxArgs];
  int at = 0;
  if (self) args[at++] = Arg(tensor_of(self));
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!is_tensor(given[i])) return nullptr;
    args[at++] = Arg(tensor_of(given[i]));
  }
  for (; at < int(op.parameters.size()); ++at) args[at] = op.parameters[size_t(at)].fallback;
  return guarded([&] {
    Tensor out;
    run_op(op.id, args, at, &out);
    return wrap(std::move(out));
  });
}

[[gnu::noinline]] PyObject* call_record(const OpInfo& op, PyObject* self, PyObject* const* given, Py_ssize_t n,
                                        PyObject* keywords) {
  if (may_override(self)) [[unlikely]]
    if (PyObject* r = overridden(g_functions[size_t(op.id)], self, given, n, keywords); r || PyErr_Occurred()) return r;
  if (n + (self ? 1 : 0) == op.tensors_only && !keywords) {
    PyObject* r = call_tensors(op, self, given, n);
    if (r || PyErr_Occurred()) return r;
  }
  return guarded([&] {
    ArgumentFrame frame;
    frame.read(op, self, given, n, keywords);
    return run(op, frame);
  });
}

// Ops that share a name: the first whose parameters fit is called, one that takes a tensor before one that takes it for a
// number. Where none fits, the first one says what is wrong.
template <class Run>
PyObject* call_shared(const OpInfo& first, PyObject* self, PyObject* const* given, Py_ssize_t n, PyObject* keywords, Run run) {
  return guarded([&] {
    for (bool strict : {true, false})
      for (const OpInfo* op = &first; op; op = op->next) {
        if ((self && !op->method) || !may_fit(*op, self, given, n, keywords)) continue;
        ArgumentFrame frame;
        frame.strict = strict;
        try {
          frame.read(*op, self, given, n, keywords);
        } catch (const TypeError&) { continue; } catch (const PythonError&) {
          PyErr_Clear();
          continue;
        }
        return run(*op, frame);
      }
    ArgumentFrame frame;
    frame.read(first, self, given, n, keywords);
    return run(first, frame);
  });
}
[[gnu::noinline]] PyObject* call_one_of(const OpInfo& first, PyObject* self, PyObject* const* given, Py_ssize_t n,
                                        PyObject* keywords) {
  if (may_override(self)) [[unlikely]]
    if (PyObject* r = overridden(g_functions[size_t(first.id)], self, given, n, keywords); r || PyErr_Occurred()) return r;
  return call_shared(first, self, given, n, keywords, run);
}
// The tensor that was written: of the method self, of the function its first argument, named input or by position.
PyObject* written(PyObject* self, const ArgumentFrame& frame) { return self ? Py_NewRef(self) : wrap(*frame.args[0].tensor); }
void check_target(const OpInfo& op, PyObject* self, const ArgumentFrame& frame) {
  DY_CHECK_AS(TypeError, self || !(frame.args[0].tensor->impl()->flags & kNumber), "{}_: a number cannot be written into",
              op.signature->name);
}
[[gnu::noinline]] PyObject* write_into(const OpInfo& op, PyObject* self, PyObject* const* given, Py_ssize_t n,
                                       PyObject* keywords) {
  if (may_override(self)) [[unlikely]]
    if (PyObject* r = overridden(g_in_place_functions[size_t(op.id)], self, given, n, keywords); r || PyErr_Occurred())
      return r;
  return guarded([&] {
    ArgumentFrame frame;
    frame.read(op, self, given, n, keywords);
    check_target(op, self, frame);
    run_op_inplace(op.id, frame.args, int(op.parameters.size()));
    return written(self, frame);
  });
}
[[gnu::noinline]] PyObject* write_one_of(const OpInfo& first, PyObject* self, PyObject* const* given, Py_ssize_t n,
                                         PyObject* keywords) {
  if (may_override(self)) [[unlikely]]
    if (PyObject* r = overridden(g_in_place_functions[size_t(first.id)], self, given, n, keywords); r || PyErr_Occurred())
      return r;
  return call_shared(first, self, given, n, keywords, [&](const OpInfo& op, ArgumentFrame& frame) {
    DY_CHECK_AS(TypeError, op.def->inplace, "{}_: this form of it does not write in place: {}", first.signature->name,
                op.def->sig);
    check_target(op, self, frame);
    run_op_inplace(op.id, frame.args, int(op.parameters.size()));
    return written(self, frame);
  });
}

// What CPython calls names no op: an entry of its own for each. They only pass on (inlined, the calls above took 34 s to
// compile and 1.4 MB).
using Call = PyObject* (*)(const OpInfo&, PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
template <int I, Call call> PyObject* as_function(PyObject*, PyObject* const* given, Py_ssize_t n, PyObject* keywords) {
  return call(g_ops[I], nullptr, given, n, keywords);
}
template <int I, Call call> PyObject* as_method(PyObject* self, PyObject* const* given, Py_ssize_t n, PyObject* keywords) {
  return call(g_ops[I], self, given, n, keywords);
}

using Entry = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
struct Entries {
  Entry function, method, shared_function, shared_method, in_place, shared_in_place, in_place_function,
      shared_in_place_function;
};
template <int... I> constexpr std::array<Entries, sizeof...(I)> make_entries(std::integer_sequence<int, I...>) {
  return {
      {{as_function<I, call_record>, as_method<I, call_record>, as_function<I, call_one_of>, as_method<I, call_one_of>,
        as_method<I, write_into>, as_method<I, write_one_of>, as_function<I, write_into>, as_function<I, write_one_of>}...}};
}
constexpr auto kEntries = make_entries(std::make_integer_sequence<int, kOps>());

// "(dim=None, keepdim=False)" as inspect reads it; `self` as the first name of a method is "$self".
std::string signature_line(const OpInfo& op, const std::string& name, bool method) {
  std::string s = name + "(";
  bool star = false;
  for (size_t i = 0; i < op.parameters.size(); ++i) {
    const Parameter& p = op.signature->parameters[i];
    if (p.keyword_only && !star) {
      s += std::string(i ? ", " : "") + "*";
      star = true;
    }
    s += i || star ? ", " : "";
    s += method && i == 0 ? "$self" : p.name;
    if (!op.parameters[i].required) s += "=" + (p.fallback.empty() ? "None" : p.fallback);
  }
  if (op.def->random) s += star ? ", generator=None" : ", *, generator=None";
  if (op.requires_grad) s += ", requires_grad=False";
  return s + ")\n--\n\n";
}

OpInfo make_info(Op id) {
  OpInfo op;
  op.id = id;
  op.def = &op_def(id);
  op.signature = &signature(id);
  const Signature& s = *op.signature;
  read_parameters(op);
  bool makes = false;  // a tensor where it is told to
  for (int i = 0; i < int(op.parameters.size()); ++i)
    if (const OpParameter& p = op.parameters[size_t(i)]; p.keyword_only && p.take == Take::device) makes = true, op.device = i;
  if (std::ranges::any_of(op.parameters, [](auto& p) { return p.take == Take::tensor; })) op.device = -1;  // where that is
  op.outputs = int(s.returns.size());
  const nb::object there = nb::getattr(nb::handle(reinterpret_cast<PyObject*>(tensor_type)), s.name.c_str(), nb::none());
  const bool property = Py_IS_TYPE(there.ptr(), &PyGetSetDescr_Type);  // x.real, x.imag
  op.method = s.method() && !in_namespace(s.name) && op.parameters[0].take == Take::tensor && !property;
  op.numbers = op.def->kind == OpKind::pointwise || (op.def->kind == OpKind::composite && op.def->variant);
  op.takes_out = op.def->kind != OpKind::view && !s.returns_list();
  for (const OpParameter& p : op.parameters) op.takes_out &= std::string_view(p.text) != "out";
  op.requires_grad = makes && op.outputs == 1;
  int operands = 0;  // tensors; what follows them is by keyword only
  while (operands < int(op.parameters.size()) && op.parameters[size_t(operands)].take == Take::tensor) ++operands;
  if (op.outputs == 1 && !s.returns_list() && operands == op.positional && operands <= 4) op.tensors_only = operands;
  int first = op.method ? 1 : 0;
  op.spread_tensors = !s.parameters.empty() && s.parameters[0].spread;
  if (op.positional == first + 1 && op.parameters[size_t(first)].take == Take::ints) op.spread = first;
  std::string doc = std::string(op.def->doc) + "\n\n" + op.def->sig;
  op.function_doc = signature_line(op, s.name, false) + doc;
  op.method_doc = signature_line(op, s.name, true) + doc;
  return op;
}

// A named tuple prints a result per line, as PyTorch's.
PyObject* print_results(PyObject* self) {
  return guarded([&] {
    const nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(self)));
    std::string text =
        nb::cast<std::string>(type.attr("__module__")) + "." + nb::cast<std::string>(type.attr("__name__")) + "(";
    const nb::object fields = type.attr("__match_args__");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i)
      text += std::string(i ? ",\n" : "\n") + nb::cast<std::string>(fields[size_t(i)]) + "=" +
              nb::repr(nb::handle(PyTuple_GET_ITEM(self, i))).c_str();
    return PyUnicode_FromString((text + ")").c_str());
  });
}

// dyadic.return_types.sort: a tuple with the names of the results.
void add_result_type(OpInfo& op, nb::module_& m) {
  const Signature& s = *op.signature;
  if (s.return_names.empty()) return;
  static std::vector<PyStructSequence_Field> fields[kOps];
  static std::array<std::string, size_t(kOps)> names;
  std::vector<PyStructSequence_Field>& f = fields[int(op.id)];
  for (const std::string& name : s.return_names) f.push_back({name.c_str(), nullptr});
  f.push_back({nullptr, nullptr});
  names[size_t(op.id)] = "dyadic.return_types." + s.shared_name;
  PyStructSequence_Desc description{names[size_t(op.id)].c_str(), nullptr, f.data(), op.outputs};
  op.result_type = PyStructSequence_NewType(&description);
  if (!op.result_type) throw nb::python_error();
  op.result_type->tp_repr = print_results;
  PyType_Modified(op.result_type);
  m.attr(s.name.c_str()) = nb::borrow(reinterpret_cast<PyObject*>(op.result_type));
}

// Links the ops of each shared name, the one that bears it first.
void link_shared_names() {
  for (OpInfo& op : g_ops) {
    const std::string& name = op.signature->shared_name;
    if (op.signature->name == name) continue;
    OpInfo* last = nullptr;
    for (OpInfo& other : g_ops)
      if (other.signature->name == name) last = &other;
    DY_CHECK(last, "signature: {} shares the name of no op", op.def->sig);
    while (last->next) last = last->next;
    last->next = &op;
    op.follows = true;
  }
}

PyMethodDef make_method(const std::string& name, Entry entry, const std::string& doc) {
  return {name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry)), METH_FASTCALL | METH_KEYWORDS,
          doc.c_str()};
}

void add_method(PyMethodDef* def) {
  auto* type = reinterpret_cast<PyObject*>(tensor_type);
  if (PyDict_GetItemString(tensor_type->tp_dict, def->ml_name)) return;  // written by hand in methods.cpp
  nb::object descriptor = nb::steal(PyDescr_NewMethod(tensor_type, def));
  if (!descriptor.is_valid() || PyObject_SetAttrString(type, def->ml_name, descriptor.ptr())) throw nb::python_error();
}

// PyTorch's other names: the same functions and methods.
void add_aliases(nb::module_& m, nb::list& names, const OpInfo& op) {
  auto* type = reinterpret_cast<PyObject*>(tensor_type);
  auto again = [&](const std::string& alias, const std::string& name) {
    if (PyObject_SetAttrString(type, alias.c_str(), PyDict_GetItemString(tensor_type->tp_dict, name.c_str())))
      throw nb::python_error();
  };
  for (const std::string& alias : aliases(op.id)) {
    names.append(alias);
    m.attr(alias.c_str()) = m.attr(op.signature->name.c_str());
    if (op.method) again(alias, op.signature->name);
    if (!op.method || !op.def->inplace) continue;
    again(alias + "_", op.signature->name + "_");
    m.attr((alias + "_").c_str()) = m.attr((op.signature->name + "_").c_str());
  }
}

// What records say, for the stub generator and the tests.
nb::list describe_records() {
  nb::list all;
  for (const OpInfo& op : g_ops) {
    if (op.def->internal) continue;
    nb::dict d;
    d["name"] = op.signature->name;
    d["signature"] = op.def->sig;
    d["doc"] = op.def->doc;
    d["aliases"] = aliases(op.id);
    d["samples"] = op.def->samples;
    d["bad"] = op.def->bad;
    d["method"] = op.method;
    d["inplace"] = op.def->inplace && op.method;
    d["requires_grad"] = op.requires_grad;
    d["random"] = op.def->random;
    d["numbers"] = op.numbers;
    d["takes_out"] = op.takes_out;
    d["random"] = op.def->random;
    d["outputs"] = op.outputs;
    d["pointwise"] = op.def->kind == OpKind::pointwise;
    d["spread"] = op.spread;
    d["low"] = op.def->low;
    d["high"] = op.def->high;
    all.append(d);
  }
  return all;
}

}  // namespace

void add_ops(nb::module_& m) {
  static std::array<PyMethodDef, size_t(kOps)> functions, methods, in_places, in_place_functions;
  static std::array<std::string, size_t(kOps)> in_place_names, in_place_docs, in_place_function_docs;
  nb::object name = nb::str("dyadic");
  nb::list names;
  nb::module_ types = m.def_submodule("return_types", "The named tuples of ops with several results.");
  nb::module_ parts = m.def_submodule("_parts", "Ops that are parts of others: for compositions in Python, and for tests.");
  for (size_t i = 0; i < size_t(kOps); ++i) {
    g_ops[i] = make_info(Op(i));
    if (!g_ops[i].def->internal) add_result_type(g_ops[i], types);
  }
  link_shared_names();
  for (size_t i = 0; i < size_t(kOps); ++i) {
    OpInfo& op = g_ops[i];
    const bool shared = op.next && !op.follows;
    if (shared)
      for (const OpInfo* other = op.next; other; other = other->next) {
        const std::string also = std::string("\n\n") + other->def->doc + "\n\n" + other->def->sig;
        op.function_doc += also;
        op.method_doc += also;
      }
    functions[i] =
        make_method(op.signature->name, shared ? kEntries[i].shared_function : kEntries[i].function, op.function_doc);
    nb::object function = nb::steal(PyCFunction_NewEx(&functions[i], nullptr, name.ptr()));
    if (!function.is_valid()) throw nb::python_error();
    (op.def->internal ? parts : m).attr(op.signature->name.c_str()) = function;
    g_functions[i] = function.ptr();
    if (op.def->internal) continue;
    names.append(op.signature->name);
    if (!op.method) continue;
    methods[i] = make_method(op.signature->name, shared ? kEntries[i].shared_method : kEntries[i].method, op.method_doc);
    add_method(&methods[i]);
    if (!op.def->inplace) continue;
    in_place_names[i] = op.signature->name + "_";
    in_place_docs[i] = signature_line(op, in_place_names[i], true) + "Writes into self: " + op.def->doc;
    in_places[i] =
        make_method(in_place_names[i], shared ? kEntries[i].shared_in_place : kEntries[i].in_place, in_place_docs[i]);
    add_method(&in_places[i]);
    in_place_function_docs[i] = signature_line(op, in_place_names[i], false) + "Writes into self: " + op.def->doc;
    in_place_functions[i] =
        make_method(in_place_names[i], shared ? kEntries[i].shared_in_place_function : kEntries[i].in_place_function,
                    in_place_function_docs[i]);
    nb::object in_place_function = nb::steal(PyCFunction_NewEx(&in_place_functions[i], nullptr, name.ptr()));
    if (!in_place_function.is_valid()) throw nb::python_error();
    m.attr(in_place_names[i].c_str()) = in_place_function;
    g_in_place_functions[i] = in_place_function.ptr();
  }
  for (const OpInfo& op : g_ops)
    if (!op.def->internal) add_aliases(m, names, op);
  m.attr("_op_names") = names;
  m.def("_records", describe_records);
}

}  // namespace dyadic::inline v1::python
