// nanobind's own types, as Python code needs them: its metaclass beside ABCMeta and with several bases that are ours, its
// functions with what inspect.signature asks for.
#include "nn.h"

namespace dyadic::inline v1::python {
namespace {

initproc nanobind_init;
setattrofunc nanobind_set;

// The library's class of what an object of this one is in C++: the last base of that C++ class.
PyTypeObject* bound_class(PyTypeObject* type) {
  const std::type_info& wanted = nb::type_info(reinterpret_cast<PyObject*>(type));
  PyObject *found = nullptr, *bases = type->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); ++i)
    if (PyObject* o = PyTuple_GET_ITEM(bases, i); nb::type_check(o) && nb::type_info(o) == wanted) found = o;
  return reinterpret_cast<PyTypeObject*>(found);
}

// The base whose C++ class is every other base's or derives from it, and so what the object is in C++. Null, and an error:
// there is none, and of one: nothing is to be chosen.
PyTypeObject* choose_base(PyTypeObject* type, bool& several) {
  PyTypeObject *best = nullptr, *other = nullptr;
  several = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_bases); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_bases, i));
    if (!nb::type_check(reinterpret_cast<PyObject*>(base))) continue;
    if (!best) {
      best = base;
      continue;
    }
    several = true;
    PyTypeObject *chosen = bound_class(best), *next = bound_class(base);
    if (PyType_IsSubtype(next, chosen))
      best = next == chosen ? best : base;
    else if (!PyType_IsSubtype(chosen, next))
      other = base;
  }
  if (!other) return best;
  PyErr_Format(PyExc_TypeError, "%s: its bases %s and %s are different C++ classes; an object is of one", type->tp_name,
               best->tp_name, other->tp_name);
  return nullptr;
}

// class C(A, B) where both come from ours. nanobind, which takes C++ class and lifetime from its one base, sees the chosen one.
int admit(PyTypeObject* type) {
  bool several;
  PyTypeObject* base = choose_base(type, several);
  if (!several) return 0;
  if (!base) return -1;
  if (base->tp_basicsize > type->tp_basicsize) {
    PyErr_Format(PyExc_TypeError, "%s: its bases have different layouts", type->tp_name);
    return -1;
  }
  if (type->tp_base != base) {
    Py_INCREF(base);
    Py_SETREF(type->tp_base, base);
  }
  PyObject *all = type->tp_bases, *one = PyTuple_Pack(1, base), *arguments = one ? PyTuple_Pack(1, one) : nullptr;
  if (!arguments) return Py_XDECREF(one), -1;
  type->tp_bases = one;
  const int r = nanobind_init(reinterpret_cast<PyObject*>(type), arguments, nullptr);
  type->tp_bases = all;
  Py_DECREF(arguments);
  Py_DECREF(one);
  return r;
}

int init(PyObject* type, PyObject* args, PyObject* kwargs) {
  return admit(reinterpret_cast<PyTypeObject*>(type)) < 0 ? -1 : nanobind_init(type, args, kwargs);
}
int set(PyObject* type, PyObject* name, PyObject* value) {  // __init_subclass__ comes before init
  return admit(reinterpret_cast<PyTypeObject*>(type)) < 0 ? -1 : nanobind_set(type, name, value);
}

// nanobind makes types that cannot be changed, out of caution: while this lives one can.
class Opened {
  PyTypeObject* type_;

 public:
  explicit Opened(nb::handle type) : type_(reinterpret_cast<PyTypeObject*>(type.ptr())) {
    type_->tp_flags &= ~Py_TPFLAGS_IMMUTABLETYPE;
  }
  ~Opened() {
    type_->tp_flags |= Py_TPFLAGS_IMMUTABLETYPE;
    PyType_Modified(type_);
  }
  Opened(const Opened&) = delete;
  PyTypeObject* operator->() const { return type_; }
  PyTypeObject* get() const { return type_; }
};

// A metaclass of somebody's own, which dyadic/_metaclasses.py notes in the class; null without one.
PyTypeObject* own_metaclass(PyObject* type) {
  static PyObject* const name = PyUnicode_InternFromString("_own_metaclass");
  return reinterpret_cast<PyTypeObject*>(_PyType_Lookup(reinterpret_cast<PyTypeObject*>(type), name));
}

// Methods and no slots: a class that Python derives from ours takes the slots of nanobind's own wrappers otherwise.
PyObject* init_method(PyObject* type, PyObject* args, PyObject* kwargs) {
  return init(type, args, kwargs) < 0 ? nullptr : Py_NewRef(Py_None);
}
PyObject* set_method(PyObject* type, PyObject* const* args, Py_ssize_t n) {
  if (n != 2) return PyErr_Format(PyExc_TypeError, "__setattr__: it takes a name and a value");
  return set(type, args[0], args[1]) < 0 ? nullptr : Py_NewRef(Py_None);
}
template <class F> PyCFunction as_method(F* f) { return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f)); }
PyMethodDef methods[] = {{"__init__", as_method(init_method), METH_VARARGS | METH_KEYWORDS, nullptr},
                         {"__setattr__", as_method(set_method), METH_FASTCALL, nullptr}};

ternaryfunc type_call;
PyObject* call(PyObject* type, PyObject* args, PyObject* kwargs) {
  static PyObject* const name = PyUnicode_InternFromString("__call__");
  PyTypeObject* own = own_metaclass(type);
  if (!own) return type_call(type, args, kwargs);
  PyObject* f = _PyType_Lookup(own, name);
  const nb::object bound = nb::steal(Py_TYPE(f)->tp_descr_get(f, type, reinterpret_cast<PyObject*>(own)));
  return bound.is_valid() ? PyObject_Call(bound.ptr(), args, kwargs) : nullptr;
}
PyObject* shown_class(PyObject* type, void*) {
  PyTypeObject* own = own_metaclass(type);
  return Py_NewRef(reinterpret_cast<PyObject*>(own ? own : Py_TYPE(type)));
}
PyGetSetDef class_property{"__class__", shown_class, nullptr, "The metaclass, somebody's own where there is one.", nullptr};

// nanobind knows a class as its own by its metaclass, which is ours and none derived from it. A class that has been made by
// another one becomes one of ours; what makes an object, and what isinstance and super see, stays the other's.
void take_class(nb::handle made) {
  auto* type = reinterpret_cast<PyTypeObject*>(made.ptr());
  PyObject* ours = nb::type<nn::Module>().type().ptr();
  if (nb::type_size(made) == 0) {  // an __init__ that calls no super().__init__()
    const nb::object arguments = nb::make_tuple(nb::make_tuple(nb::borrow(type->tp_bases)));
    if (init(made.ptr(), arguments.ptr(), nullptr) < 0) throw nb::python_error();
  }
  type->tp_vectorcall = nullptr;
  PyObject* before = reinterpret_cast<PyObject*>(Py_TYPE(type));
  Py_SET_TYPE(type, reinterpret_cast<PyTypeObject*>(Py_NewRef(ours)));
  Py_DECREF(before);
}

}  // namespace

// class Model(nn.Module, abc.ABC): a class has one metaclass, so ours become kinds of ABCMeta; isinstance() stays type's. (The
// memory of both is laid out as type's.)
void open_metaclass(nb::handle metaclass) {
  const Opened type(metaclass);
  metaclass.attr("__bases__") = nb::make_tuple(nb::module_::import_("abc").attr("ABCMeta"));
  const nb::handle plain(reinterpret_cast<PyObject*>(&PyType_Type));
  for (const char* name : {"__instancecheck__", "__subclasscheck__"}) metaclass.attr(name) = plain.attr(name);
  nanobind_init = std::exchange(type->tp_init, init);
  nanobind_set = std::exchange(type->tp_setattro, set);
}

// From now on Python takes metaclasses that derive from ours, and classes of others become ours (take_class).
void take_metaclasses() {
  const nb::handle metaclass = nb::type<nn::Module>().type();
  const Opened type(metaclass);
  type->tp_flags |= Py_TPFLAGS_BASETYPE;
  const auto put = [&](const char* name, PyObject* descriptor) {  // past setattr, which would set metaclass.__class__ itself
    const nb::object held = nb::steal(descriptor);
    if (!descriptor || PyDict_SetItemString(type->tp_dict, name, descriptor) < 0) throw nb::python_error();
  };
  put("__class__", PyDescr_NewGetSet(type.get(), &class_property));
  for (PyMethodDef& def : methods) put(def.ml_name, PyDescr_NewMethod(type.get(), &def));
  type_call = std::exchange(type->tp_call, call);
}

void add_type_changes(nb::module_& m) {
  // Past the slots, which classes that are there keep: what is put so counts for classes that are made from now on.
  m.def("_put_into_class", [](nb::type_object cls, const char* name, nb::handle value) {
    auto* type = reinterpret_cast<PyTypeObject*>(cls.ptr());
    if (PyDict_SetItemString(type->tp_dict, name, value.ptr()) < 0) throw nb::python_error();
    PyType_Modified(type);
  });
  m.def("_take_metaclasses", take_metaclasses);
  m.def("_take_class", take_class);
  m.def("_give_type", [](nb::handle type, const char* name, nb::handle value) {
    const Opened open(type);
    nb::setattr(type, name, value);
  });
}

}  // namespace dyadic::inline v1::python
