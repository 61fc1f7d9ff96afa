#include "overrides.h"

#include <algorithm>
#include <span>

#include "corridor/tape.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1::python {

PyObject* g_override = nullptr;
thread_local bool t_overrides = true;
thread_local bool t_mode = false;

bool is_of_own_class(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  return type != tensor_type && type != parameter_type && PyType_IsSubtype(type, tensor_type) &&
         !PyType_IsSubtype(type, parameter_type);
}

namespace {

bool takes_over(PyObject* o) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return is_of_own_class(o);
  const std::span items(PySequence_Fast_ITEMS(o), size_t(PySequence_Fast_GET_SIZE(o)));
  return std::ranges::any_of(items, is_of_own_class);
}

// The same elements as an object of a class that derives from Tensor. Without its history it is a leaf.
nb::object as_class(const Tensor& t, nb::type_object cls, bool history) {
  auto* type = reinterpret_cast<PyTypeObject*>(cls.ptr());
  DY_CHECK_AS(TypeError, PyType_IsSubtype(type, tensor_type), "as_subclass: {} is no class that derives from Tensor",
              type->tp_name);
  const TensorImpl& i = *t.impl();
  Tensor other = history ? t.view(t.sizes()) : make_view(t, i.shape(), {i.strides, i.ndim}, i.offset);
  if (type == tensor_type) return nb::steal(wrap(std::move(other)));
  PyObject* self = type->tp_alloc(type, 0);  // zeroed
  if (!self) throw nb::python_error();
  auto* o = reinterpret_cast<PyTensor*>(self);
  o->tensor = std::move(other);
  o->tensor.impl()->face = self;
  return nb::steal(self);
}

}  // namespace

PyObject* overridden(PyObject* function, PyObject* self, PyObject* const* given, Py_ssize_t n, PyObject* keywords) {
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  if (!function || (!t_mode && !std::any_of(given, given + n + named, takes_over))) return nullptr;
  return guarded([&] {
    nb::list positional;
    if (self) positional.append(nb::handle(self));
    nb::dict by_name;
    for (Py_ssize_t i = 0; i < n; ++i) positional.append(nb::handle(given[i]));
    for (Py_ssize_t i = 0; i < named; ++i) by_name[nb::handle(PyTuple_GET_ITEM(keywords, i))] = nb::handle(given[n + i]);
    return nb::object(nb::handle(g_override)(nb::handle(function), nb::tuple(positional), by_name)).release().ptr();
  });
}

PyObject* handed_to_mode(PyObject* function, std::initializer_list<PyObject*> given) {
  return overridden(function, nullptr, given.begin(), Py_ssize_t(given.size()), nullptr);
}

void add_overrides(nb::module_& m) {
  m.def("_as_class", as_class, nb::arg("tensor"), nb::arg("cls"), nb::arg("history"));
  m.def("_begin_overrides", [](nb::object call) { g_override = call.release().ptr(); });
  m.def("_set_mode", [](bool entered) { t_mode = entered; });
  m.def("_overrides", [] { return t_overrides; });
  m.def("_set_overrides", [](bool on) { return std::exchange(t_overrides, on); });
}

}  // namespace dyadic::inline v1::python
