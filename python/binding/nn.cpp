// dyadic.nn: the C++ modules, and Python classes derived from them. A Python module's parameters and buffers live in slots of
// its C++ part; its children are kept alive there, and each also stands in the instance's __dict__, where Python finds it
// first.
#include "nn.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <set>
#include <utility>

namespace dyadic::inline v1::python {
namespace {

template <class List> auto find(const List& entries, std::string_view name) -> decltype(entries[0].second) {
  for (auto& [key, value] : entries)
    if (key == name) return value;
  return nullptr;
}
std::string_view text(PyObject* name) {
  Py_ssize_t n;
  const char* s = PyUnicode_AsUTF8AndSize(name, &n);
  if (!s) throw PythonError();
  return {s, size_t(n)};
}

bool is_computed(PyObject* self, PyObject* name) {
  if (!nb::inst_ready(self)) return false;
  const auto& computed = nb::inst_ptr<Module>(self)->computed();
  return !computed.empty() && find(computed, text(name));
}

PyObject* get_attribute(PyObject* self, PyObject* name) {
  if (is_computed(self, name)) return PyObject_CallMethod(self, "_compute", "O", name);
  PyObject* r = PyObject_GenericGetAttr(self, name);
  if (r || !PyErr_ExceptionMatches(PyExc_AttributeError) || !nb::inst_ready(self)) return r;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  r = guarded([&]() -> PyObject* {
    auto& m = *nb::inst_ptr<Module>(self);
    std::string_view key = text(name);
    if (Tensor* t = find(m.own_parameters(), key)) return wrap_parameter(*t);
    if (Tensor* t = find(m.own_buffers(), key)) return wrap(*t);
    if (Module* c = find(m.children(), key)) return child_object(self, name, c).release().ptr();
    return nullptr;
  });
  if (r || PyErr_Occurred()) {
    Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
    return r;
  }
  PyErr_Restore(type, value, trace);
  return nullptr;
}

void forget(Module& m, nb::handle self, nb::handle name) {
  m.remove(text(name.ptr()));
  nb::object dict = self.attr("__dict__");
  if (PyDict_Contains(dict.ptr(), name.ptr()) == 1) PyDict_DelItem(dict.ptr(), name.ptr());
}

void check_ready(PyObject* self) {
  if (nb::inst_ready(self)) return;
  PyErr_SetString(PyExc_AttributeError, "Module: parameters and modules are assigned after super().__init__() has run");
  throw PythonError();
}

void put_parameter(Module& m, nb::handle self, nb::handle name, const Tensor& t) {
  std::string key(text(name.ptr()));
  if (Tensor* slot = find(m.own_parameters(), key)) {
    *slot = t;
    return;
  }
  forget(m, self, name);
  m.register_parameter(key, t);
}

// True: it was one of the module's own entries, and is dealt with.
bool assign_entry(PyObject* self, PyObject* name, PyObject* value) {
  bool module = value && is_module(value), parameter = value && is_parameter(value);
  if (!module && !parameter && !nb::inst_ready(self)) return false;
  check_ready(self);
  auto& m = *nb::inst_ptr<Module>(self);
  if (parameter) {
    put_parameter(m, self, name, tensor_of(value));
    return true;
  }
  std::string_view key = text(name);
  Tensor *slot = find(m.own_parameters(), key), *buffer = find(m.own_buffers(), key);
  Module* child = find(m.children(), key);
  if (module) {
    if (slot || buffer) m.remove(key);
    m.add(std::string(key), nb::cast<std::shared_ptr<Module>>(nb::handle(value)));
    return false;  // and into __dict__
  }
  if (!slot && !buffer && !child) return false;
  if (!value || value == Py_None) {
    forget(m, self, name);
    return !value;
  }
  if (buffer && is_tensor(value)) {
    *buffer = tensor_of(value);
    return true;
  }
  fail<TypeError>("Module: {} is {}: assign one of the same kind or None, not {}", key,
                  slot     ? "a parameter"
                  : buffer ? "a buffer"
                           : "a module",
                  Py_TYPE(value)->tp_name);
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  if (value && is_computed(self, name)) {  // of a parametrization: its originals take the value
    PyObject* done = PyObject_CallMethod(self, "_assign_computed", "OO", name, value);
    Py_XDECREF(done);
    return done ? 0 : -1;
  }
  PyObject* on_type = _PyType_Lookup(Py_TYPE(self), name);
  if (on_type && Py_TYPE(on_type)->tp_descr_set) return PyObject_GenericSetAttr(self, name, value);
  PyObject* r = guarded([&] { return Py_NewRef(assign_entry(self, name, value) ? Py_True : Py_False); });
  if (!r) return -1;
  Py_DECREF(r);
  return r == Py_True ? 0 : PyObject_GenericSetAttr(self, name, value);
}

// Python's garbage collector sees the children that C++ keeps alive: those whose one reference is ours.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (PyObject** dict = _PyObject_GetDictPtr(self)) Py_VISIT(*dict);
  if (!nb::inst_ready(self)) return 0;
  for (auto& child : nb::inst_ptr<Module>(self)->owned_children())
    if (child.use_count() == 1) {
      nb::handle o = nb::find(child.get());
      Py_VISIT(o.ptr());
    }
  return 0;
}
int clear(PyObject* self) {
  if (PyObject** dict = _PyObject_GetDictPtr(self)) Py_CLEAR(*dict);
  if (!nb::inst_ready(self)) return 0;
  auto& m = *nb::inst_ptr<Module>(self);
  std::vector<std::string> names;
  for (auto& [name, child] : m.children())
    for (auto& owned : m.owned_children())
      if (owned.get() == child) names.push_back(name);
  for (auto& name : names) m.remove(name);
  return 0;
}

template <class F> nb::list pairs(const nn::NamedTensors& tensors, F object) {
  nb::list l;
  for (auto& [name, t] : tensors) l.append(nb::make_tuple(name, object(t)));
  return l;
}

nb::object call_module(nb::handle self, nb::args args, nb::kwargs kwargs) {
  auto& m = nb::cast<Module&>(self);
  nn::ModuleScope scope(m);
  if (m.hooked()) return nb::module_::import_("dyadic.nn._hooks").attr("call")(self, args, kwargs);
  return self.attr("forward")(*args, **kwargs);
}

nb::dict state_dict(const Module& m) {
  nb::dict d;
  for (auto& [name, t] : m.state_dict()) d[name.c_str()] = t;
  return d;
}
nb::object load_state_dict(Module& m, nb::dict state, bool strict) {
  nn::NamedTensors list;
  for (auto [k, v] : state) list.emplace_back(nb::cast<std::string>(k), nb::cast<Tensor>(v));
  const nn::LoadReport report = m.load_state_dict(list, strict);
  return nb::module_::import_("dyadic.nn._state").attr("LoadReport")(report.missing, report.unexpected);
}

// Runs a Python module's hooks where C++ calls it: those that its __dict__ holds, where the garbage collector sees them.
struct PythonHooks : nn::Hook {
  static nb::tuple convert(const std::vector<Tensor>& tensors) {
    nb::list l;
    for (const Tensor& t : tensors) l.append(t);
    return nb::tuple(l);
  }
  static Tensor one(nb::handle o) { return o.is_none() ? Tensor() : nb::cast<Tensor>(o); }
  static void read(nb::handle from, std::vector<Tensor>& into) {
    into.clear();
    if (!nb::isinstance<nb::tuple>(from)) return into.push_back(one(from));
    for (nb::handle o : nb::borrow<nb::tuple>(from)) into.push_back(one(o));
  }
  void before(Module& m, std::vector<Tensor>& inputs) override {
    nb::gil_scoped_acquire gil;
    read(nb::module_::import_("dyadic.nn._hooks").attr("before")(nb::find(&m), convert(inputs), nb::dict())[0], inputs);
  }
  void after(Module& m, const std::vector<Tensor>& inputs, std::vector<Tensor>& results) override {
    nb::gil_scoped_acquire gil;
    const nb::object out = results.size() == 1 ? nb::cast(results[0]) : nb::object(convert(results));
    read(nb::module_::import_("dyadic.nn._hooks").attr("after")(nb::find(&m), convert(inputs), nb::dict(), out), results);
  }
};

nn::NamedTensors own(const std::vector<std::pair<std::string, Tensor*>>& slots, const std::string& prefix) {
  nn::NamedTensors all;
  for (auto& [name, t] : slots)
    if (t->defined()) all.emplace_back(prefix.empty() ? name : prefix + "." + name, *t);
  return all;
}

// A module that has several names comes once, under the first.
void collect(nb::handle self, const std::string& path, nb::list& into, std::set<PyObject*>* seen) {
  if (seen && !seen->insert(self.ptr()).second) return;
  into.append(nb::make_tuple(path, self));
  for (auto& [name, child] : nb::cast<Module&>(self).children())
    collect(child_object(self, nb::str(name.c_str()), child), path.empty() ? name : path + "." + name, into, seen);
}
nb::list modules_of(nb::handle self, const std::string& prefix, bool once) {
  nb::list l;
  std::set<PyObject*> seen;
  collect(self, prefix, l, once ? &seen : nullptr);
  return l;
}
void collect_parameters(const Module& m, const std::string& prefix, nn::NamedTensors& into) {
  for (auto& entry : own(m.own_parameters(), prefix)) into.push_back(entry);
  for (auto& [name, child] : m.children()) collect_parameters(*child, prefix.empty() ? name : prefix + "." + name, into);
}

// An iterator, as PyTorch's are: over a list, or over one part of its pairs.
nb::object each(nb::list all, int part = -1) {
  nb::list l = part < 0 ? all : nb::list();
  if (part >= 0)
    for (nb::handle entry : all) l.append(entry[part]);
  return nb::steal(PyObject_GetIter(l.ptr()));
}

void add_tree(nb::class_<Module, Derived<Module>>& c) {
  auto parameters = [](Module& m, const std::string& prefix, bool recurse, bool once) {
    if (recurse && once) return pairs(m.named_parameters(prefix), parameter_object);
    nn::NamedTensors all = own(m.own_parameters(), prefix);
    if (recurse) all.clear(), collect_parameters(m, prefix, all);
    return pairs(all, parameter_object);
  };
  auto buffers = [](Module& m, const std::string& prefix, bool recurse) {
    return pairs(recurse ? m.named_buffers(prefix) : own(m.own_buffers(), prefix), [](const Tensor& t) { return t; });
  };
  c.def(
       "parameters", [=](Module& m, bool recurse) { return each(parameters(m, "", recurse, true), 1); },
       nb::arg("recurse") = true, "All parameters of the tree, a tied one once.")
      .def(
          "named_parameters",
          [=](Module& m, const std::string& p, bool recurse, bool once) { return each(parameters(m, p, recurse, once)); },
          nb::arg("prefix") = "", nb::arg("recurse") = true, nb::arg("remove_duplicate") = true)
      .def(
          "buffers", [=](Module& m, bool recurse) { return each(buffers(m, "", recurse), 1); }, nb::arg("recurse") = true)
      .def(
          "named_buffers", [=](Module& m, const std::string& p, bool recurse) { return each(buffers(m, p, recurse)); },
          nb::arg("prefix") = "", nb::arg("recurse") = true)
      .def(
          "named_modules",
          [](nb::handle self, nb::object, const std::string& p, bool once) { return each(modules_of(self, p, once)); },
          nb::arg("memo") = nb::none(), nb::arg("prefix") = "", nb::arg("remove_duplicate") = true)
      .def("modules", [](nb::handle self) { return each(modules_of(self, "", true), 1); })
      .def("children", [](nb::handle self) { return each(each_child(self)); })
      .def("named_children",
           [](nb::handle self) {
             nb::list l;
             for (auto& [name, child] : nb::cast<Module&>(self).children())
               l.append(nb::make_tuple(name, child_object(self, nb::str(name.c_str()), child)));
             return each(l);
           })
      .def("_state_dict", state_dict)
      .def("_load_state_dict", load_state_dict, nb::arg("state_dict"), nb::arg("strict"))
      .def("num_parameters", &Module::num_parameters)
      .def(
          "get_memory_footprint", [](Module& m) { return m.nbytes(); }, "nbytes() under the name that transformers gives it.")
      .def("nbytes", &Module::nbytes, "Bytes of parameters and buffers, shared storage once.");
}

nb::object convert_module(nb::handle self, nb::handle target) {
  auto& m = nb::cast<Module&>(self);
  bool device = PyUnicode_Check(target.ptr())
                    ? nb::cast<std::string>(target) == "cpu" || nb::cast<std::string>(target) == "meta"
                    : !is_dtype(target.ptr()) && read_device(target.ptr());
  if (!device) {
    auto d = read_dtype(target.ptr());
    DY_CHECK_AS(TypeError, d, "to: an argument has the wrong type: target is {}; it takes a dtype or a device",
                Py_TYPE(target.ptr())->tp_name);
    m.to(*d);
    return nb::borrow(self);
  }
  Device where = *read_device(target.ptr());
  for (auto& [name, t] : m.state_dict())
    DY_CHECK_AS(ValueError, t.device() == where, "to: modules do not move: {} is on {}; make the module with device=\"{}\"",
                name, t.device().name(), where.name());
  return nb::borrow(self);
}

// to(dtype), to(device), to(device, dtype), to(dtype=..., device=...).
nb::object convert_to_all(nb::handle self, nb::args targets, nb::kwargs named) {
  for (auto [key, value] : named) {
    const auto name = nb::cast<std::string>(key);
    DY_CHECK_AS(TypeError, name == "dtype" || name == "device", "to: unknown argument {}; it takes dtype and device", name);
  }
  for (nb::handle target : targets) convert_module(self, target);
  for (auto [key, value] : named)
    if (!value.is_none()) convert_module(self, value);
  return nb::borrow(self);
}

nb::object apply(nb::handle self, nb::handle fn) {
  for (nb::handle child : each_child(self)) apply(child, fn);
  fn(self);
  return nb::borrow(self);
}

void add_changes(nb::class_<Module, Derived<Module>>& c) {
  auto same = [](auto f) {
    return [f](nb::handle self) {
      f(nb::cast<Module&>(self));
      return nb::borrow(self);
    };
  };
  c.def(
       "train",
       [](nb::handle self, bool on) {
         nb::cast<Module&>(self).train(on);
         return nb::borrow(self);
       },
       nb::arg("mode") = true)
      .def("eval", same([](Module& m) { m.eval(); }))
      .def_prop_rw("training", &Module::training, &Module::set_training,
                   "Of this module alone; train() and eval() set the tree's.")
      .def("to", convert_to_all,
           "Converts the floating-point parameters and buffers to a dtype. A device is checked: modules are made where they "
           "live.")
      .def("double", same([](Module& m) { m.to(f64); }))
      .def("float", same([](Module& m) { m.to(f32); }))
      .def("half", same([](Module& m) { m.to(f16); }))
      .def("bfloat16", same([](Module& m) { m.to(bf16); }))
      .def("apply", apply, nb::arg("fn"), "Calls fn on every module of the tree, children first.")
      .def("zero_grad", &Module::zero_grad, nb::arg("set_to_none") = true)
      .def(
          "requires_grad_",
          [](nb::handle self, bool on) {
            nb::cast<Module&>(self).requires_grad_(on);
            return nb::borrow(self);
          },
          nb::arg("requires_grad") = true)
      .def(
          "set_parameter", [](Module& m, const std::string& name, const Tensor& t) { m.set_parameter(name, t); },
          nb::arg("name"), nb::arg("value"),
          "Replaces a parameter by one of another dtype: what the module computes with from now on.")
      .def(
          "register_parameter",
          [](nb::handle self, nb::str name, nb::object t) {
            DY_CHECK_AS(TypeError, t.is_none() || is_parameter(t.ptr()), "register_parameter: it takes an nn.Parameter, not {}",
                        Py_TYPE(t.ptr())->tp_name);
            nb::setattr(self, name, t);
          },
          nb::arg("name"), nb::arg("param").none())
      .def(
          "register_buffer",
          [](nb::handle self, nb::str name, nb::object t, bool persistent) {
            forget(nb::cast<Module&>(self), self, name);
            if (t.is_none()) return nb::setattr(self, name, t);
            nb::cast<Module&>(self).register_buffer(name.c_str(), nb::cast<Tensor>(t), persistent);
          },
          nb::arg("name"), nb::arg("tensor").none(), nb::arg("persistent") = true,
          "A tensor that is not trained, and saved with the module if it is persistent.")
      .def("_watch", [](Module& m) { m.add_hook(std::make_shared<PythonHooks>()); })
      .def("_own_parameters",
           [](Module& m) {
             nb::list l;
             for (auto& [name, t] : m.own_parameters()) l.append(nb::make_tuple(name, parameter_object(*t)));
             return l;
           })
      .def("_own_buffers",
           [](Module& m) {
             nb::list l;
             for (auto& [name, t] : m.own_buffers()) l.append(nb::make_tuple(name, *t, m.is_persistent(name)));
             return l;
           })
      .def(
          "_begin_computed", [](Module& m, const std::string& name) { m.begin_computed(name); }, nb::arg("name"))
      .def(
          "_set_computed", [](Module& m, const std::string& name, const Tensor& value) { *find(m.computed(), name) = value; },
          nb::arg("name"), nb::arg("value"))
      .def(
          "_end_computed", [](Module& m, const std::string& name, const Tensor& t) { m.end_computed(name, t); },
          nb::arg("name"), nb::arg("parameter"))
      .def(
          "_swap",
          [](Module& m, const std::string& name, const Tensor& value) {
            Tensor *parameter = find(m.own_parameters(), name), *slot = parameter ? parameter : find(m.own_buffers(), name);
            DY_CHECK_AS(ValueError, slot, "Module: no parameter or buffer \"{}\"", name);
            const Tensor before = std::exchange(*slot, value);
            return parameter ? parameter_object(before) : nb::cast(before);
          },
          nb::arg("name"), nb::arg("value"), "Puts any tensor in the place of a parameter or buffer; returns what was there.")
      .def(
          "add_module", [](nb::handle self, nb::str name, nb::handle child) { nb::setattr(self, name, child); },
          nb::arg("name"), nb::arg("module"));
}

}  // namespace

nb::list each_child(nb::handle self) {
  nb::list l;
  for (auto& [name, child] : nb::cast<Module&>(self).children()) l.append(child_object(self, nb::str(name.c_str()), child));
  return l;
}

nb::object child_object(nb::handle self, nb::handle name, Module* child) {
  if (nb::handle o = nb::find(child)) return nb::borrow(o);
  for (auto& owned : nb::cast<Module&>(self).owned_children())
    if (owned.get() == child) {
      nb::object o = nb::cast(owned);
      nb::object(self.attr("__dict__"))[name] = o;
      return o;
    }
  return nb::cast(child, nb::rv_policy::reference_internal, self);
}

void add_modules(nb::module_& m) {
  PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(clear)},
                         {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
                         {Py_tp_setattro, reinterpret_cast<void*>(set_attribute)},
                         {0, nullptr}};
  nb::class_<Module, Derived<Module>> c(
      m, "Module", nb::dynamic_attr(), nb::is_weak_referenceable(), nb::type_slots(slots),
      "A tree of parameters with names, and a forward. Parameters, buffers and modules that become attributes are registered.");
  c.def(nb::init<>())
      .def(
          "forward", [](Module& m, const Tensor& x) { return m.forward(x); }, nb::arg("x"))
      .def("__call__", call_module)
      .def("extra_repr", [](Module& m) { return m.extra_repr(); })
      .def("__repr__", &Module::str);
  add_tree(c);
  add_changes(c);
}

}  // namespace dyadic::inline v1::python
