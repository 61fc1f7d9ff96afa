// What the bindings of modules share: the class behind Python's subclasses, and modules and parameters as Python objects.
#pragma once
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/trampoline.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <typeindex>

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
void add_tree(ModuleClass& c);                   // nn_tree.cpp
void add_changes(ModuleClass& c);                // nn_changes.cpp
void add_hooks(ModuleClass& c);                  // nn_hooks.cpp
void add_begin(nb::module_& m);                  // nn_begin.cpp
void add_direct(nb::module_& m);                 // nn_direct.cpp
nb::object other_conv_forward(nb::handle self);  // a _conv_forward that somebody has written; else invalid

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
void check_begun(nb::handle self);  // AttributeError where a module's __init__ has not run

// A child that C++ made gets its face once, in its parent's __dict__, so that what Python hangs on it stays. None without one.
nb::object child_object(nb::handle self, nb::handle name, Module* child);
inline nb::object parameter_object(const Tensor& t) { return nb::steal(wrap_parameter(t)); }

// A layer's flag: whatever is true or false, as in nn.Linear(2, 2, bias=0).
struct Flag {
  bool value;
  operator bool() const { return value; }
};

// What an instance holds in Python: values by name, its children among them. m.__dict__ shows it as PyTorch's modules have it.
inline nb::dict own_dict(nb::handle self) { return nb::steal<nb::dict>(PyObject_GenericGetDict(self.ptr(), nullptr)); }

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

// How Module.__init__ begins an object of each C++ class: without arguments, so that a layer has no parameters yet.
using Begin = void (*)(nb::handle self);
std::map<std::type_index, Begin>& beginnings();
const nn::LayerDef& layer_def_of(nb::handle self);  // of its class
template <class M> void begin_bare(nb::handle self) {
  const nb::pointer_and_handle<M> place{nb::inst_ptr<M>(self), self};
  if constexpr (std::is_same_v<M, nn::Layer>)
    construct(place, layer_def_of(self), nn::Bare());
  else if constexpr (std::is_constructible_v<M, nn::Bare>)
    construct(place, nn::Bare());
  else
    construct(place);
}

// self.name = value as Module does it, whatever a derived class makes of assignments.
void assign_own(nb::handle self, nb::handle name, nb::handle value);

extern PyType_Slot module_slots[];  // how Python's garbage collector goes through a module

template <class M> auto bind(nb::module_& m, const char* name, const char* doc) {
  beginnings()[typeid(M)] = begin_bare<M>;
  return nb::class_<M, Module, Derived<M>>(m, name, nb::dynamic_attr(), nb::type_slots(module_slots), doc);
}

}  // namespace dyadic::inline v1::python

template <> struct nanobind::detail::type_caster<dyadic::python::Flag> {
  NB_TYPE_CASTER(dyadic::python::Flag, const_name("bool"))
  bool from_python(handle src, uint32_t, cleanup_list*) noexcept {
    const int truth = PyObject_IsTrue(src.ptr());
    if (truth < 0) PyErr_Clear();
    value.value = truth > 0;
    return truth >= 0;
  }
  static handle from_cpp(dyadic::python::Flag f, rv_policy, cleanup_list*) noexcept { return PyBool_FromLong(f.value); }
};
