// dyadic.nn: the C++ modules, and Python classes derived from them. A Python module's parameters and buffers live in slots of
// its C++ part; its children are kept alive there, and each also stands in the instance's __dict__, where Python finds it
// first. Here: attributes, lifetimes, the call; nn_tree.cpp lists what a tree has, nn_changes.cpp changes it.
#include "nn.h"

#include <nanobind/stl/string.h>

#include "dyadic/nn_layers.h"

namespace dyadic::inline v1::python {
namespace {

std::string_view text(PyObject* name) {
  Py_ssize_t n;
  const char* s = PyUnicode_AsUTF8AndSize(name, &n);
  if (!s) throw PythonError();
  return {s, size_t(n)};
}

bool is_computed(PyObject* self, PyObject* name) {
  const auto& computed = nb::inst_ptr<Module>(self)->computed();
  return !computed.empty() && find(computed, text(name));
}

// Of an object whose __init__ has not run, what the library's classes define has nothing to read.
bool is_out_of_reach(PyObject* self, PyObject* name) {
  PyObject* on_type = text(name).starts_with("__") ? nullptr : _PyType_Lookup(Py_TYPE(self), name);
  if (!on_type) return false;
  static PyTypeObject* const method =
      Py_TYPE(_PyType_Lookup(reinterpret_cast<PyTypeObject*>(nb::type<Module>().ptr()), nb::str("_own_parameters").ptr()));
  if (Py_TYPE(on_type) != &PyProperty_Type) return Py_TYPE(on_type) == method;
  const nb::object get = nb::getattr(nb::handle(on_type), "fget");
  return Py_TYPE(get.ptr()) == method;
}

void not_begun(PyObject* self) {
  const char *name = Py_TYPE(self)->tp_name, *dot = std::strrchr(name, '.');
  PyErr_Format(PyExc_AttributeError, "%s: __init__ has not run: call super().__init__() first", dot ? dot + 1 : name);
}

PyObject* dict_name() {
  static PyObject* const name = PyUnicode_InternFromString("__dict__");
  return name;
}
nb::object shown_dict(PyObject* self) {
  static PyObject* const cls = nb::object(nb::module_::import_("dyadic.nn._namespace").attr("Namespace")).release().ptr();
  return nb::handle(cls)(nb::handle(self));
}

PyObject* get_attribute(PyObject* self, PyObject* name) {
  if (name == dict_name()) return guarded([&] { return shown_dict(self).release().ptr(); });
  if (!nb::inst_ready(self))
    return is_out_of_reach(self, name) ? (not_begun(self), nullptr) : PyObject_GenericGetAttr(self, name);
  if (is_computed(self, name)) return PyObject_CallMethod(self, "_compute", "O", name);
  PyObject* r = PyObject_GenericGetAttr(self, name);
  if (r || !PyErr_ExceptionMatches(PyExc_AttributeError)) return r;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  r = guarded([&]() -> PyObject* {
    auto& m = *nb::inst_ptr<Module>(self);
    std::string_view key = text(name);
    if (Tensor* t = find(m.own_parameters(), key)) return wrap_parameter(*t);
    if (Tensor* t = find(m.own_buffers(), key)) return wrap(*t);
    if (has_child(m, key)) return child_object(self, name, find(m.children(), key)).release().ptr();
    return nullptr;
  });
  if (r || PyErr_Occurred()) {
    Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
    return r;
  }
  PyErr_Restore(type, value, trace);
  return nullptr;
}

void check_ready(PyObject* self) {
  if (nb::inst_ready(self)) return;
  PyErr_SetString(PyExc_AttributeError, "Module: parameters and modules are assigned after super().__init__() has run");
  throw PythonError();
}

void forget_in_dict(nb::handle self, nb::handle name) {
  const nb::dict dict = own_dict(self);
  if (PyDict_Contains(dict.ptr(), name.ptr()) == 1) PyDict_DelItem(dict.ptr(), name.ptr());
}

void put_parameter(Module& m, nb::handle self, nb::handle name, const Tensor& t) {
  std::string key(text(name.ptr()));
  if (Tensor* slot = find(m.own_parameters(), key)) {
    *slot = t;
    return;
  }
  forget(m, self, name);
  m.register_parameter(key, t, t.requires_grad());
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
  const bool child = has_child(m, key);
  if (module) {
    check_begun(value);
    if (slot || buffer) m.remove(key);
    m.add(std::string(key), nb::cast<std::shared_ptr<Module>>(nb::handle(value)));
    return false;  // and into __dict__
  }
  nb::object is_persistent;  // of an nn.Buffer
  if (value && is_tensor(value) && reinterpret_cast<PyTensor*>(value)->attributes)
    if (PyObject* p = PyDict_GetItemString(reinterpret_cast<PyTensor*>(value)->attributes, "_is_buffer"); p == Py_True)
      is_persistent = nb::getattr(nb::handle(value), "persistent");
  if (!slot && !child && is_persistent.is_valid()) {
    if (!buffer) forget(m, self, name);
    m.register_buffer(std::string(key), tensor_of(value), nb::cast<bool>(is_persistent));
    return true;
  }
  if (!slot && !buffer && !child) return false;
  if (!value) {
    if (slot) *slot = Tensor();  // it may be a member
    forget(m, self, name);
    return true;
  }
  if (value == Py_None) {
    m.vacate(key);
    forget_in_dict(self, name);
    return true;
  }
  if (buffer && is_tensor(value)) {
    *buffer = tensor_of(value);
    return true;
  }
  const char *kind = slot     ? "a parameter"
                     : buffer ? "a buffer"
                              : "a module",
             *wanted = slot     ? "an nn.Parameter"
                       : buffer ? "a Tensor"
                                : "a module";
  fail<TypeError>("Module: {} is {}: assign {} or None, not {}", key, kind, wanted, Py_TYPE(value)->tp_name);
}

// A member that is deleted is absent, parameter or not.
int delete_member(PyObject* self, PyObject* name) {
  PyObject* r = guarded([&]() -> PyObject* {
    nb::handle h(self);
    if (assign_entry(self, name, nullptr)) Py_RETURN_NONE;
    if (PyObject_GenericSetAttr(self, name, nullptr) == 0) Py_RETURN_NONE;
    nb::python_error no_deleter;
    if (!is_tensor(nb::getattr(h, name, nb::none()).ptr())) throw no_deleter;
    nb::setattr(h, name, nb::none());
    forget(*nb::inst_ptr<Module>(self), h, name);
    Py_RETURN_NONE;
  });
  Py_XDECREF(r);
  return r ? 0 : -1;
}

int set_any(PyObject* self, PyObject* name, PyObject* value) {
  if (name == dict_name() && value) {
    PyObject* done = guarded([&] { return nb::object(shown_dict(self).attr("replace")(nb::handle(value))).release().ptr(); });
    Py_XDECREF(done);
    return done ? 0 : -1;
  }
  if (value && nb::inst_ready(self) && is_computed(self, name)) {  // of a parametrization: its originals take the value
    PyObject* done = PyObject_CallMethod(self, "_assign_computed", "OO", name, value);
    Py_XDECREF(done);
    return done ? 0 : -1;
  }
  PyObject* on_type = _PyType_Lookup(Py_TYPE(self), name);
  if (on_type && Py_TYPE(on_type)->tp_descr_set) {
    if (!nb::inst_ready(self) && is_out_of_reach(self, name)) return not_begun(self), -1;
    if (!value && nb::inst_ready(self)) return delete_member(self, name);
    return PyObject_GenericSetAttr(self, name, value);
  }
  PyObject* r = guarded([&] { return Py_NewRef(assign_entry(self, name, value) ? Py_True : Py_False); });
  if (!r) return -1;
  Py_DECREF(r);
  return r == Py_True ? 0 : PyObject_GenericSetAttr(self, name, value);
}

// The object of a parameter of a derived class stays with its module: C++ keeps objects of Parameter alone.
constexpr const char* kObjects = "_parameter_objects";
int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  const int r = set_any(self, name, value);
  PyObject** place = r == 0 ? _PyObject_GetDictPtr(self) : nullptr;
  const bool derived = value && is_parameter(value) && Py_TYPE(value) != parameter_type;
  if (!place || (!*place && !derived)) return r;
  PyObject* objects = *place ? PyDict_GetItemString(*place, kObjects) : nullptr;
  if (!objects && !derived) return 0;
  PyObject* done = guarded([&] {
    nb::dict dict = own_dict(self);
    if (!objects) dict[kObjects] = nb::dict();
    nb::dict all = nb::borrow<nb::dict>(nb::handle(dict[kObjects]));
    if (derived)
      all[nb::handle(name)] = nb::handle(value);
    else if (all.contains(nb::handle(name)))
      nb::del(all[nb::handle(name)]);
    return Py_NewRef(Py_None);
  });
  Py_XDECREF(done);
  return done ? 0 : -1;
}

// Methods and no slot: object.__setattr__ would refuse to go past a slot, and people hide modules by it.
PyObject* set_by_method(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || !PyUnicode_Check(args[0]))
    return PyErr_Format(PyExc_TypeError, "Module.__setattr__: it takes a name and a value");
  if (set_attribute(self, args[0], args[1]) < 0) return nullptr;
  Py_RETURN_NONE;
}
PyObject* delete_by_method(PyObject* self, PyObject* name) {
  if (!PyUnicode_Check(name)) return PyErr_Format(PyExc_TypeError, "Module.__delattr__: it takes a name");
  if (set_attribute(self, name, nullptr) < 0) return nullptr;
  Py_RETURN_NONE;
}
void add_setters(ModuleClass& c) {
  static PyMethodDef methods[] = {
      {"__setattr__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(set_by_method)), METH_FASTCALL, nullptr},
      {"__delattr__", delete_by_method, METH_O, nullptr}};
  for (PyMethodDef& def : methods)
    nb::setattr(c, def.ml_name, nb::steal(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(c.ptr()), &def)));
}

// Python's garbage collector sees what C++ keeps alive, where the one reference is ours: children, and objects of tensors.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (PyObject** dict = _PyObject_GetDictPtr(self)) Py_VISIT(*dict);
  if (!nb::inst_ready(self)) return 0;
  for (auto& child : nb::inst_ptr<Module>(self)->owned_children())
    if (child.use_count() == 1) {
      nb::handle o = nb::find(child.get());
      Py_VISIT(o.ptr());
    }
  auto& m = *nb::inst_ptr<Module>(self);
  for (auto* slots : {&m.own_parameters(), &m.own_buffers(), &m.computed()})
    for (auto& [name, slot] : *slots)
      if (TensorImpl* t = slot->impl(); t && t->refs.load() == 1) {
        if (t->flags & kOwnsFace) Py_VISIT(static_cast<PyObject*>(t->face));
        if (const int r = visit_owned(*t, visit, arg)) return r;
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

nb::object call_module(nb::handle self, nb::args args, nb::kwargs kwargs) {
  check_begun(self);
  auto& m = nb::cast<Module&>(self);
  nn::ModuleScope scope(m);
  if (m.hooked()) return nb::module_::import_("dyadic.nn._hooks").attr("call")(self, args, kwargs);
  return self.attr("forward")(*args, **kwargs);
}

}  // namespace

void check_begun(nb::handle self) {
  if (nb::inst_ready(self)) return;
  not_begun(self.ptr());
  throw PythonError();
}

void forget(Module& m, nb::handle self, nb::handle name) {
  m.remove(text(name.ptr()));
  forget_in_dict(self, name);
}

nb::list each_child(nb::handle self) {
  check_begun(self);
  nb::list l;
  for (auto& [name, child] : nb::cast<Module&>(self).children()) l.append(child_object(self, nb::str(name.c_str()), child));
  return l;
}

// A child that C++ has made is of its record's class, as one made in Python.
static nb::object wrap_child(const std::shared_ptr<Module>& child) {
  nb::object o = nb::cast(child);
  if (auto* layer = dynamic_cast<nn::Layer*>(child.get()))
    o.attr("__class__") = nb::module_::import_("dyadic.nn._layers").attr("classes")[layer->kind()];
  return o;
}

nb::object child_object(nb::handle self, nb::handle name, Module* child) {
  if (!child) return nb::none();
  if (nb::handle o = nb::find(child)) return nb::borrow(o);
  for (auto& owned : nb::cast<Module&>(self).owned_children())
    if (owned.get() == child) {
      nb::object o = wrap_child(owned);
      own_dict(self)[name] = o;
      return o;
    }
  return nb::cast(child, nb::rv_policy::reference_internal, self);
}

PyType_Slot module_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

void assign_own(nb::handle self, nb::handle name, nb::handle value) {
  if (set_attribute(self.ptr(), name.ptr(), value.ptr()) < 0) throw nb::python_error();
}

void add_modules(nb::module_& m) {
  PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(clear)},
                         {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
                         {0, nullptr}};
  ModuleClass c(
      m, "Module", nb::dynamic_attr(), nb::is_weak_referenceable(), nb::type_slots(slots),
      "A tree of parameters with names, and a forward. Parameters, buffers and modules that become attributes are registered.");
  c.def(nb::init<>())
      .def(
          "forward", [](Module& m, const Tensor& x) { return m.forward(x); }, nb::arg("input"))
      .def("__call__", call_module)
      .def("extra_repr", [](Module& m) { return m.extra_repr(); })
      .def("summary", &Module::str, "The tree with the parameters, bytes and dtypes of each module.");
  add_setters(c);
  add_tree(c);
  add_changes(c);
  add_hooks(c);
  m.def("_own_dict", own_dict, nb::arg("module"));
  add_begin(m);
  add_direct(m);
}

}  // namespace dyadic::inline v1::python
