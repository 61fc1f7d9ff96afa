// nanobind's own types, as Python code needs them: its metaclass beside ABCMeta and with several bases that are ours, its
// functions with what inspect.signature asks for.
#include "object.h"

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
};

}  // namespace

// class Model(nn.Module, abc.ABC): a class has one metaclass, so ours become kinds of ABCMeta; isinstance() stays type's. (The
// memory of both is laid out as type's.) One that derives from type alone, class Model(nn.Module, metaclass=Meta), stays
// refused by Python: nanobind knows a class as its own by its metaclass, which is this one and none derived from it.
void open_metaclass(nb::handle metaclass) {
  const Opened type(metaclass);
  metaclass.attr("__bases__") = nb::make_tuple(nb::module_::import_("abc").attr("ABCMeta"));
  const nb::handle plain(reinterpret_cast<PyObject*>(&PyType_Type));
  for (const char* name : {"__instancecheck__", "__subclasscheck__"}) metaclass.attr(name) = plain.attr(name);
  nanobind_init = std::exchange(type->tp_init, init);
  nanobind_set = std::exchange(type->tp_setattro, set);
}

void add_signatures(nb::module_& m) {
  m.def("_give_type", [](nb::handle type, const char* name, nb::handle value) {
    const Opened open(type);
    nb::setattr(type, name, value);
  });
}

}  // namespace dyadic::inline v1::python
