// Python's objects as parts of the data layer: datasets, samplers and values. Everything here takes the GIL when it needs it.
#pragma once
#include <nanobind/stl/shared_ptr.h>

#include "dyadic/data.h"
#include "object.h"

namespace dyadic::inline v1::python {

// A Python object held by C++, let go with the GIL from whichever thread.
class Held {
  nb::object o_;

 public:
  explicit Held(nb::object o) : o_(std::move(o)) {}
  Held(const Held&) = delete;
  ~Held() {
    if (nb::detail::cleanup_guard alive{})
      o_.reset();
    else
      o_.release();  // the interpreter is gone
  }
  nb::handle get() const { return o_; }
};

using data::Value;

data::Value foreign_value(nb::object o);               // as it is
nb::object to_object(const Value& v, bool as_tuples);  // as_tuples: lists become tuples, as samples are
std::vector<Value> read_samples(nb::handle list);

// C++'s own classes as they are; whatever else Python has, behind an adapter.
std::shared_ptr<data::Dataset> read_dataset(nb::handle o);
std::shared_ptr<data::Sampler> read_sampler(nb::handle o);
std::shared_ptr<data::BatchSampler> read_batch_sampler(nb::handle o);
data::Generators read_generator(nb::handle o);
data::DataLoader* read_loader(nb::handle o);  // borrowed; null where it is none
// What Python gave.
nb::object dataset_object(const std::shared_ptr<data::Dataset>& d);
nb::object sampler_object(const std::shared_ptr<data::Sampler>& s);
nb::object batch_sampler_object(const std::shared_ptr<data::BatchSampler>& s);

// Python's error, from its indicator or from PythonError, as an exception that any thread may carry.
template <class F> auto calling_python(F&& f) {
  nb::gil_scoped_acquire gil;
  try {
    return f();
  } catch (const PythonError&) { throw nb::python_error(); }
}

// For Python's garbage collector: the one reference behind a shared_ptr that came from Python, if there is one.
template <class T> int visit_owner(const std::shared_ptr<T>& p, visitproc visit, void* arg) {
  if (auto* held = dynamic_cast<Held*>(p.get()))
    Py_VISIT(held->get().ptr());
  else if (auto* deleter = std::get_deleter<nb::detail::py_deleter>(p))
    Py_VISIT(deleter->o);
  return 0;
}
template <class T> int visit_sole_owner(const std::shared_ptr<T>& p, visitproc visit, void* arg) {
  return p.use_count() == 1 ? visit_owner(p, visit, arg) : 0;
}
// Slots of a class whose C++ part keeps Python's objects alive: members(const T&, visit, arg) visits them.
template <class T, auto members> nb::type_slots collected() {
  static const PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(+[](PyObject* self, visitproc visit, void* arg) {
                                         Py_VISIT(Py_TYPE(self));
                                         if (PyObject** dict = _PyObject_GetDictPtr(self)) Py_VISIT(*dict);
                                         return nb::inst_ready(self) ? members(*nb::inst_ptr<T>(self), visit, arg) : 0;
                                       })},
                                      {0, nullptr}};
  return nb::type_slots(slots);
}

// C[int] is C: annotations of type checkers.
inline void make_generic(nb::handle type) {
  nb::object itself = nb::cpp_function([](nb::handle t, nb::handle) { return nb::borrow(t); });
  type.attr("__class_getitem__") = nb::steal(PyClassMethod_New(itself.ptr()));
}

struct Samples {  // an IterableDataset's, on their way through Python
  std::unique_ptr<data::ValueStream> stream;
};
template <class D, auto members> auto bind_dataset(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<D, data::Dataset>(m, name, doc, collected<D, members>())
      .def("__len__", [](D& d) { return d.size(); })
      .def("__getitem__", [](D& d, int64_t i) { return to_object(d[i], true); }, nb::arg("index"));
}
template <class D> int visit_nothing(const D&, visitproc, void*) { return 0; }

void add_samplers(nb::module_& m);
void add_loader(nb::module_& m);
void add_data_files(nb::module_& m);
void add_images(nb::module_& m);

}  // namespace dyadic::inline v1::python
