// Compiled functions: compiler.py wraps what it is given around a Recording.
#include "dyadic/compile.h"

#include <map>

#include "base/check.h"
#include "compile_guard.h"
#include "dyadic/nn.h"
#include "dyadic/ops.h"
#include "graph/recorder.h"
#include "ops/demand.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1::python {
namespace {

std::string package;  // its folder

// The innermost line of Python that is not this package's. Calls nothing that a profiler would see.
std::string line_of_program() {
  if (!PyGILState_Check()) return "";
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame.is_valid() && !frame.is_none()) {
    const auto file = nb::cast<std::string>(frame.attr("f_code").attr("co_filename"));
    if (!file.starts_with(package)) return fmt::format("{}:{}", file, nb::cast<int>(frame.attr("f_lineno")));
    frame = frame.attr("f_back");
  }
  return "";
}

void append(std::string& key, char kind, std::string_view text) {
  key += kind;
  const size_t n = text.size();
  key.append(reinterpret_cast<const char*>(&n), sizeof n);
  key += text;
}

// An argument: tensors in order, the rest in the key. False: it can be anything.
bool flatten(nb::handle h, detail::Arguments& into) {
  PyObject* const o = h.ptr();
  if (is_tensor(o)) {
    const bool plain = Py_TYPE(o) == tensor_type || Py_TYPE(o) == parameter_type;
    into.key += Py_TYPE(o) == parameter_type ? 'P' : 'T';
    into.add(tensor_of(o));
    return plain;
  }
  if (h.is_none()) return into.key += 'N', true;
  if (PyBool_Check(o)) return into.key += o == Py_True ? 'Y' : 'F', true;
  if (PyFloat_CheckExact(o)) {
    const double v = PyFloat_AS_DOUBLE(o);
    return append(into.key, 'f', {reinterpret_cast<const char*>(&v), sizeof v}), true;
  }
  if (PyLong_CheckExact(o)) return append(into.key, 'i', nb::str(h).c_str()), true;
  if (PyUnicode_CheckExact(o)) return append(into.key, 's', nb::cast<std::string>(h)), true;
  if (is_dtype(o) || nb::isinstance<nn::Module>(h)) {  // modules that end change the structure
    return append(into.key, 'o', {reinterpret_cast<const char*>(&o), sizeof o}), true;
  }
  const bool tuple = PyTuple_CheckExact(o) || Py_TYPE(o) == size_type;
  if (tuple || PyList_CheckExact(o)) {
    append(into.key, tuple ? 't' : 'l', std::to_string(nb::len(h)));
    bool all = true;
    for (nb::handle e : h) all = all && flatten(e, into);
    return all;
  }
  if (PyDict_CheckExact(o)) {
    append(into.key, 'd', std::to_string(nb::len(h)));
    bool all = true;
    for (auto [k, v] : nb::borrow<nb::dict>(h)) all = all && flatten(k, into) && flatten(v, into);
    return all;
  }
  return false;
}

// A result with its tensors taken out, in order: None, plain values, tuples, lists and dicts of them. False: something else.
bool take_apart(nb::handle h, std::vector<Tensor>& tensors, nb::object& form, std::string& key) {
  PyObject* const o = h.ptr();
  if (Py_TYPE(o) == tensor_type || Py_TYPE(o) == parameter_type) {
    tensors.push_back(tensor_of(o));
    key += 'T';
    form = nb::borrow(Py_Ellipsis);
    return true;
  }
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    nb::list parts;
    append(key, PyTuple_CheckExact(o) ? 't' : 'l', std::to_string(nb::len(h)));
    for (nb::handle e : h) {
      nb::object part;
      if (!take_apart(e, tensors, part, key)) return false;
      parts.append(part);
    }
    form = PyTuple_CheckExact(o) ? nb::object(nb::tuple(parts)) : nb::object(parts);
    return true;
  }
  if (PyDict_CheckExact(o)) {
    nb::dict parts;
    append(key, 'd', std::to_string(nb::len(h)));
    for (auto [k, v] : nb::borrow<nb::dict>(h)) {
      nb::object part;
      detail::Arguments name;
      if (!flatten(k, name) || !name.tensors.empty() || !take_apart(v, tensors, part, key)) return false;
      key += name.key;
      parts[k] = part;
    }
    form = parts;
    return true;
  }
  detail::Arguments plain;
  if (!flatten(h, plain) || !plain.tensors.empty()) return false;
  key += plain.key;
  form = nb::borrow(h);
  return true;
}
nb::object put_together(nb::handle form, const std::vector<Tensor>& tensors, size_t& next) {
  PyObject* const o = form.ptr();
  if (o == Py_Ellipsis) return nb::steal(wrap(tensors[next++]));
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    nb::list parts;
    for (nb::handle e : form) parts.append(put_together(e, tensors, next));
    return PyTuple_CheckExact(o) ? nb::object(nb::tuple(parts)) : nb::object(parts);
  }
  if (!PyDict_CheckExact(o)) return nb::borrow(form);
  nb::dict parts;
  for (auto [k, v] : nb::borrow<nb::dict>(form)) parts[k] = put_together(v, tensors, next);
  return parts;
}

struct Form {  // of what a step returns
  nb::object form;
  std::string key;
};

struct Recording {
  std::shared_ptr<graph::Recording> own;
  const bool whole;
  nb::object watch;  // _watched.Watch: what the program reads, and what it calls while it is recorded
  nb::object guard;
  int64_t generation = 0;  // of the guard: steps of another one do not run again
  std::map<std::string, Form> forms;

  Recording(const std::string& mode, bool fullgraph, bool check)
      : own(detail::make_recording({.mode = mode, .fullgraph = fullgraph, .check = check})),
        whole(detail::replays_steps(*own)) {}
};

nb::object run_program(detail::CompiledRun& run, nb::handle function, nb::tuple args, nb::dict kwargs) {
  const nb::object result = nb::steal(PyObject_Call(function.ptr(), args.ptr(), kwargs.ptr()));
  if (!result.is_valid()) throw nb::python_error();
  {
    Unlocked unlocked;
    run.finish();
  }
  return result;
}

void refuse(const std::string& why) {
  if (t_step_watcher) t_step_watcher->refuses(why);
}

// Every element of `holds` is true, else a ValueError of message() and `shown`.
void demand(const Tensor& holds, const Tensor& shown, const nb::callable& message) {
  if (holds.is_meta()) return;
  const NoGrad guard;
  const Tensor of[] = {all(holds), shown.detach()};
  ops::demand(
      "a condition", of, [&] { return nb::cast<std::string>(message()); },
      [](std::span<const Tensor> now, ops::Said text) {
        DY_CHECK_AS(ValueError, now[0].item_scalar().integer() != 0, "{}{}", text(), now[1].str());
      });
}

nb::object call_whole(Recording& r, nb::callable function, nb::tuple args, nb::dict kwargs) {
  detail::Arguments given;
  const bool comparable = flatten(args, given) && flatten(kwargs, given);
  if (!r.guard.is_valid() || !nb::cast<Guard&>(r.guard).broken().is_none()) {
    r.guard = r.watch.attr("look")(function, args);
    ++r.generation;
    r.forms.clear();
  }
  given.add(r.generation);
  given.add(default_device().type());
  detail::CompiledRun run(r.own, given.tensors, comparable ? &given.key : nullptr);
  if (run.replayed()) {
    size_t next = 0;
    return put_together(r.forms.at(given.key).form, run.results(), next);
  }
  if (!t_step_watcher || !comparable) return run_program(run, function, args, kwargs);
  nb::object result = r.watch.attr("run")(function, args, kwargs);
  Form form;
  std::vector<Tensor> tensors;
  if (!take_apart(result, tensors, form.form, form.key)) refuse("a result is no tensor, number, tuple, list or dict");
  if (const nb::object changed = nb::cast<Guard&>(r.guard).broken(); !changed.is_none())
    refuse(fmt::format("the program changes what it reads: {}", nb::str(changed).c_str()));
  if (const auto it = r.forms.find(given.key); it != r.forms.end() && it->second.key != form.key)
    refuse("another value is returned each time");
  r.forms[given.key] = std::move(form);
  run.finish(tensors);
  return result;
}

nb::object call(Recording& r, nb::callable function, nb::tuple args, nb::dict kwargs) {
  if (r.whole) return call_whole(r, function, args, kwargs);
  detail::CompiledRun run(r.own);
  return run_program(run, function, args, kwargs);
}

}  // namespace

void add_compile(nb::module_& m) {
  const auto file = nb::cast<std::string>(nb::module_::import_("dyadic").attr("__file__"));
  package = file.substr(0, file.rfind('/'));
  graph::g_where = line_of_program;
  nb::class_<Recording>(m, "_Recording")
      .def(nb::init<const std::string&, bool, bool>(), nb::arg("mode") = "default", nb::arg("fullgraph") = false,
           nb::arg("check") = false)
      .def_rw("watch", &Recording::watch)
      .def("call", call, nb::arg("function"), nb::arg("args"), nb::arg("kwargs"), "A run of the compiled function.")
      .def("explain", [](const Recording& r) { return detail::explain(*r.own); })
      .def("dot", [](const Recording& r) { return detail::dot(*r.own); });
  nb::class_<Guard>(m, "_Guard")
      .def(nb::init<>())
      .def("item", &Guard::add_item, nb::arg("of"), nb::arg("name"), nb::arg("value").none())
      .def("cell", &Guard::add_cell, nb::arg("cell"), nb::arg("value").none())
      .def("dict", &Guard::add_dict)
      .def("list", &Guard::add_list)
      .def("type", &Guard::add_type)
      .def("module", &Guard::add_module)
      .def("broken", &Guard::broken);
  m.def("_demand", demand, nb::arg("holds"), nb::arg("shown"), nb::arg("message"),
        "Every element of `holds` is true, now and in each run of a step without its program; else a ValueError: message() and "
        "`shown`.");
  m.def("_refuse_step", refuse, nb::arg("why"), "The run that is written down does what cannot run again by itself.");
}

}  // namespace dyadic::inline v1::python
