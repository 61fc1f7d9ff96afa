#include "compile_guard.h"

#include "dyadic/nn.h"

namespace dyadic::inline v1::python {
namespace {

// A version that no other contents have had; 0: this Python has none.
uint64_t version_of(nb::handle dict) {
#if PY_VERSION_HEX < 0x030C0000
  return reinterpret_cast<PyDictObject*>(dict.ptr())->ma_version_tag;
#else
  (void)dict;
  return 0;
#endif
}

bool is_plain(PyObject* o) {
  return PyLong_Check(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o) || PyBytes_CheckExact(o);
}
bool same(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (!a || !b || Py_TYPE(a) != Py_TYPE(b) || !is_plain(a)) return false;
  if (PyFloat_CheckExact(a)) {  // -0 is not 0
    const double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
  }
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) throw PythonError();
  return equal;
}
bool same_items(PyObject* a, PyObject* b) {
  if (PyDict_GET_SIZE(a) != PyDict_GET_SIZE(b)) return false;
  PyObject *key, *value;
  Py_ssize_t at = 0;
  while (PyDict_Next(a, &at, &key, &value))
    if (!same(value, PyDict_GetItemWithError(b, key))) return false;
  return true;
}
bool same_elements(PyObject* list, PyObject* tuple) {
  if (PyList_GET_SIZE(list) != PyTuple_GET_SIZE(tuple)) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i)
    if (!same(PyList_GET_ITEM(list, i), PyTuple_GET_ITEM(tuple, i))) return false;
  return true;
}

}  // namespace

void Guard::add_item(nb::dict of, nb::str name, nb::object value) {
  items_.push_back({std::move(of), std::move(name), std::move(value)});
}
void Guard::add_cell(nb::object cell, nb::object value) { cells_.push_back({std::move(cell), {}, std::move(value)}); }
void Guard::add_dict(nb::dict d) {
  nb::object copy = nb::steal(PyDict_Copy(d.ptr()));
  const uint64_t version = version_of(d);
  dicts_.push_back({std::move(d), std::move(copy), version});
}
void Guard::add_type(nb::type_object t) {
  if (PyObject* d = reinterpret_cast<PyTypeObject*>(t.ptr())->tp_dict) add_dict(nb::borrow<nb::dict>(d));
}
void Guard::add_module(nb::object m) {
  const bool training = nb::cast<nn::Module&>(m).training();
  modules_.emplace_back(std::move(m), training);
}
void Guard::add_list(nb::list l) { lists_.push_back({l, nb::tuple(l), 0}); }

nb::object Guard::broken() const {
  for (const Item& i : items_)
    if (!same(PyDict_GetItemWithError(i.of.ptr(), i.name.ptr()), i.value.ptr())) return i.name;
  for (const Item& c : cells_)
    if (!same(PyCell_GET(c.of.ptr()), c.value.ptr())) return nb::str("a variable of an outer function");
  for (const Whole& d : dicts_)
    if ((!d.version || version_of(d.of) != d.version) && !same_items(d.of.ptr(), d.copy.ptr()))
      return nb::str("an object's attributes");
  for (const Whole& l : lists_)
    if (!same_elements(l.of.ptr(), l.copy.ptr())) return nb::str("a list");
  for (auto& [m, training] : modules_)
    if (nb::cast<nn::Module&>(m).training() != training) return nb::str("a module's mode");
  return nb::none();
}

}  // namespace dyadic::inline v1::python
