// What the bindings of modules share: the class behind Python's subclasses, and modules and parameters as Python objects.
#pragma once
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/trampoline.h>

#include <algorithm>
#include <cstring>

#include "dyadic/nn_layers.h"
#include "object.h"

namespace dyadic::inline v1::python {

using nn::Module;

// What C++ sees of a class that Python derived from B.
template <class B> class Derived : public B {
 public:
  NB_TRAMPOLINE(B);
  Tensor forward(const Tensor& x) override { NB_OVERRIDE(forward, x); }
  std::string extra_repr() const override { NB_OVERRIDE(extra_repr); }
  const char* kind() const override {
    const char *name = Py_TYPE(this->nb_trampoline.base().ptr())->tp_name, *dot = std::strrchr(name, '.');
    return dot ? dot + 1 : name;
  }
};

using ModuleClass = nb::class_<Module, Derived<Module>>;
void add_tree(ModuleClass& c);     // nn_tree.cpp
void add_changes(ModuleClass& c);  // nn_changes.cpp

// An entry of (name, pointer) pairs, or null.
template <class List> auto find(const List& entries, std::string_view name) -> decltype(entries[0].second) {
  for (auto& [key, value] : entries)
    if (key == name) return value;
  return nullptr;
}
inline bool has_child(const Module& m, std::string_view name) {
  return std::ranges::any_of(m.children(), [name](auto& entry) { return entry.first == name; });
}
void forget(Module& m, nb::handle self, nb::handle name);  // removes an entry, here and from __dict__

inline bool is_module(nb::handle o) { return nb::isinstance<Module>(o); }

// A child that C++ made gets its face once, in its parent's __dict__, so that what Python hangs on it stays. None without one.
nb::object child_object(nb::handle self, nb::handle name, Module* child);
inline nb::object parameter_object(const Tensor& t) { return nb::steal(wrap_parameter(t)); }

nn::Options read_options(nb::object dtype, nb::object device);
void add_scaled_initializers(nb::module_& m);  // nn_init.cpp
void add_layer_records(nb::module_& m);        // nn_records.cpp
nb::list each_child(nb::handle self);          // a list of the module's own children, None where one is absent

// __init__ by hand, for arguments that C++ takes in another form: a class derived in Python gets the part that calls back.
template <class M, class... A> void construct(nb::pointer_and_handle<M> self, A&&... args) {
  if (nb::inst_python_derived(self.h))
    new (static_cast<void*>(self.p)) Derived<M>(std::forward<A>(args)...);
  else
    new (static_cast<void*>(self.p)) M(std::forward<A>(args)...);
}

extern PyType_Slot module_slots[];  // how Python's garbage collector goes through a module

template <class M> auto bind(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<M, Module, Derived<M>>(m, name, nb::dynamic_attr(), nb::type_slots(module_slots), doc);
}

}  // namespace dyadic::inline v1::python
