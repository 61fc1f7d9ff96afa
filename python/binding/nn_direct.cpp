// Which modules C++ may call in Python's place: those whose class computes in C++, and where nobody has put another forward.
#include <array>
#include <unordered_map>

#include "nn.h"

namespace dyadic::inline v1::python {
namespace {

constexpr std::array kMethods{"forward", "__call__", "_conv_forward"};
using Methods = std::array<PyObject*, kMethods.size()>;

const Methods& names() {
  static const Methods all = [] {
    Methods m;
    for (size_t i = 0; i < m.size(); ++i) m[i] = PyUnicode_InternFromString(kMethods[i]);
    return m;
  }();
  return all;
}
Methods methods_of(PyTypeObject* type) {
  Methods m;
  for (size_t i = 0; i < m.size(); ++i) m[i] = _PyType_Lookup(type, names()[i]);
  return m;
}

// The classes that compute in C++, with their methods as they were first; both are kept alive.
std::unordered_map<PyTypeObject*, Methods>& direct_classes() {
  static std::unordered_map<PyTypeObject*, Methods> all;
  return all;
}
void add_direct_class(nb::type_object c) {
  auto* type = reinterpret_cast<PyTypeObject*>(c.release().ptr());
  const Methods& methods = direct_classes()[type] = methods_of(type);
  for (PyObject* m : methods) Py_XINCREF(m);
}

bool is_direct(PyObject* o) {
  const auto found = direct_classes().find(Py_TYPE(o));
  if (found == direct_classes().end() || methods_of(Py_TYPE(o)) != found->second) return false;
  PyObject** dict = _PyObject_GetDictPtr(o);
  if (!dict || !*dict) return true;
  return !PyDict_Contains(*dict, names()[0]) && !PyDict_Contains(*dict, names()[2]);
}
bool has_direct_children(Module& m) {
  for (auto& [name, child] : m.children()) {
    const nb::handle o = child ? nb::find(child) : nb::handle();
    if (!child || (o && !is_direct(o.ptr()))) return false;
    if (dynamic_cast<nn::Sequential*>(child) && !has_direct_children(*child)) return false;
  }
  return true;
}

std::vector<PyObject*>& conv_forwards() {  // the convolutions' own
  static std::vector<PyObject*> all;
  return all;
}

}  // namespace

nb::object other_conv_forward(nb::handle self) {
  PyObject* f = _PyType_Lookup(Py_TYPE(self.ptr()), names()[2]);
  if (!f) return {};
  PyObject** dict = _PyObject_GetDictPtr(self.ptr());
  const bool own = dict && *dict && PyDict_Contains(*dict, names()[2]);
  if (!own && std::ranges::find(conv_forwards(), f) != conv_forwards().end()) return {};
  return nb::getattr(self, names()[2]);
}

void add_direct(nb::module_& m) {
  m.def("_add_direct_class", add_direct_class, nb::arg("cls"));
  m.def("_add_conv_forward", [](nb::object f) { conv_forwards().push_back(f.release().ptr()); }, nb::arg("function"));
  m.def("_has_direct_children", has_direct_children, nb::arg("module"));
}

}  // namespace dyadic::inline v1::python
