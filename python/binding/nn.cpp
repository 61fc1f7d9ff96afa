// dyadic.nn: the C++ modules, and Python classes derived from them. A Python module's parameters and buffers live in slots of its
// C++ part; its children are kept alive there, and each also stands in the instance's __dict__, where Python finds it first.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <nanobind/trampoline.h>

#include <cstring>

#include "dyadic/nn.h"
#include "object.h"

namespace dyadic::inline v1::python {
namespace {

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

bool is_module(nb::handle o) { return nb::isinstance<Module>(o); }

template <class List> auto find(const List& entries, std::string_view name) -> decltype(entries[0].second) {
  for (auto& [key, value] : entries)
    if (key == name) return value;
  return nullptr;
}
nb::object as_object(Module* child, nb::handle parent) { return nb::cast(child, nb::rv_policy::reference_internal, parent); }
nb::object parameter_object(const Tensor& t) { return nb::steal(wrap_parameter(t)); }

std::string_view text(PyObject* name) {
  Py_ssize_t n;
  const char* s = PyUnicode_AsUTF8AndSize(name, &n);
  if (!s) throw PythonError();
  return {s, size_t(n)};
}

PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* r = PyObject_GenericGetAttr(self, name);
  if (r || !PyErr_ExceptionMatches(PyExc_AttributeError) || !nb::inst_ready(self)) return r;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  r = guarded([&]() -> PyObject* {
    auto& m = *nb::inst_ptr<Module>(self);
    std::string_view key = text(name);
    if (Tensor* t = find(m.own_parameters(), key)) return wrap_parameter(*t);
    if (Tensor* t = find(m.own_buffers(), key)) return wrap(*t);
    if (Module* c = find(m.children(), key)) return as_object(c, self).release().ptr();
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
                  slot ? "a parameter" : buffer ? "a buffer" : "a module", Py_TYPE(value)->tp_name);
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
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

// __init__ by hand, for arguments that C++ takes in another form: a class derived in Python gets the part that calls back.
template <class M, class... A> void construct(nb::pointer_and_handle<M> self, A&&... args) {
  if (nb::inst_python_derived(self.h))
    new (static_cast<void*>(self.p)) Derived<M>(std::forward<A>(args)...);
  else
    new (static_cast<void*>(self.p)) M(std::forward<A>(args)...);
}

template <class F> nb::list pairs(const nn::NamedTensors& tensors, F object) {
  nb::list l;
  for (auto& [name, t] : tensors) l.append(nb::make_tuple(name, object(t)));
  return l;
}

nb::object call_module(nb::handle self, nb::args args, nb::kwargs kwargs) {
  nn::ModuleScope scope(nb::cast<Module&>(self));
  return self.attr("forward")(*args, **kwargs);
}

nb::dict state_dict(const Module& m) {
  nb::dict d;
  for (auto& [name, t] : m.state_dict()) d[name.c_str()] = t;
  return d;
}
void load_state_dict(Module& m, nb::dict state, bool strict) {
  nn::NamedTensors list;
  for (auto [k, v] : state) list.emplace_back(nb::cast<std::string>(k), nb::cast<Tensor>(v));
  m.load_state_dict(list, strict);
}

nb::list modules_of(nb::handle self, const std::string& prefix) {
  nb::list l;
  for (auto& [name, child] : nb::cast<Module&>(self).named_modules(prefix)) l.append(nb::make_tuple(name, as_object(child, self)));
  return l;
}

nn::Options options(nb::object dtype, nb::object device) {
  nn::Options o;
  if (!dtype.is_none()) {
    auto d = read_dtype(dtype.ptr());
    DY_CHECK_AS(TypeError, d, "Module: dtype is {}; it takes a dtype", Py_TYPE(dtype.ptr())->tp_name);
    o.dtype = *d;
  }
  if (!device.is_none()) {
    auto d = read_device(device.ptr());
    DY_CHECK_AS(TypeError, d, "Module: device is {}; it takes a device", Py_TYPE(device.ptr())->tp_name);
    o.device = *d;
  }
  return o;
}

// A parameter that is a member of a C++ module: None when it is absent.
template <class M> void member(nb::class_<M, Module, Derived<M>>& c, const char* name, Tensor M::* slot) {
  c.def_prop_rw(
      name, [slot](M& m) { return parameter_object(m.*slot); },
      [slot, name](M& m, nb::object value) {
        DY_CHECK_AS(TypeError, value.is_none() || is_parameter(value.ptr()),
                    "Module: {} is a parameter: assign an nn.Parameter or None, not {}", name, Py_TYPE(value.ptr())->tp_name);
        m.remove(name);
        m.*slot = value.is_none() ? Tensor() : tensor_of(value.ptr());
        m.add_parameter(name, m.*slot);
      },
      nb::arg("value").none());
}

template <class M> auto bind(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<M, Module, Derived<M>>(m, name, doc);
}

void add_leaves(nb::module_& m) {
  auto none = nb::none();
  auto linear = bind<nn::Linear>(m, "Linear", "y = x W^T + b; weight is [out_features, in_features].");
  linear
      .def("__init__",
           [](nb::pointer_and_handle<nn::Linear> self, int64_t in, int64_t out, bool bias, nb::object dtype, nb::object device) {
             construct(self, in, out, bias, options(dtype, device));
           },
           nb::arg("in_features"), nb::arg("out_features"), nb::arg("bias") = true, nb::kw_only(), nb::arg("dtype") = none,
           nb::arg("device") = none)
      .def_ro("in_features", &nn::Linear::in_features)
      .def_ro("out_features", &nn::Linear::out_features);
  member(linear, "weight", &nn::Linear::weight);
  member(linear, "bias", &nn::Linear::bias);

  auto embedding = bind<nn::Embedding>(m, "Embedding", "Rows of weight [num_embeddings, embedding_dim] by index.");
  embedding
      .def("__init__",
           [](nb::pointer_and_handle<nn::Embedding> self, int64_t n, int64_t dim, nb::object dtype, nb::object device) {
             construct(self, n, dim, options(dtype, device));
           },
           nb::arg("num_embeddings"), nb::arg("embedding_dim"), nb::kw_only(), nb::arg("dtype") = none, nb::arg("device") = none)
      .def_ro("num_embeddings", &nn::Embedding::num_embeddings)
      .def_ro("embedding_dim", &nn::Embedding::embedding_dim);
  member(embedding, "weight", &nn::Embedding::weight);

  auto norm = bind<nn::LayerNorm>(m, "LayerNorm", "(x - mean) / sqrt(variance + eps) over the last dimensions, times weight plus bias.");
  norm.def("__init__",
           [](nb::pointer_and_handle<nn::LayerNorm> self, std::variant<int64_t, std::vector<int64_t>> shape, double eps, bool affine,
              bool bias, nb::object dtype, nb::object device) {
             std::vector<int64_t> s = shape.index() ? std::get<1>(shape) : std::vector<int64_t>{std::get<0>(shape)};
             construct(self, IntList(s), eps, affine, bias, options(dtype, device));
           },
           nb::arg("normalized_shape"), nb::arg("eps") = 1e-5, nb::arg("elementwise_affine") = true, nb::arg("bias") = true,
           nb::kw_only(), nb::arg("dtype") = none, nb::arg("device") = none)
      .def_prop_ro("normalized_shape", [](nn::LayerNorm& n) { return nb::tuple(nb::cast(n.normalized_shape)); })
      .def_rw("eps", &nn::LayerNorm::eps);
  member(norm, "weight", &nn::LayerNorm::weight);
  member(norm, "bias", &nn::LayerNorm::bias);

  bind<nn::Dropout>(m, "Dropout", "In training each element is zeroed with probability p and the rest scaled by 1 / (1 - p).")
      .def(nb::init<double>(), nb::arg("p") = 0.5)
      .def_rw("p", &nn::Dropout::p);
  bind<nn::GELU>(m, "GELU", "x Phi(x), exact.").def(nb::init<>());
  bind<nn::ReLU>(m, "ReLU", "max(x, 0).").def(nb::init<>());
}

std::shared_ptr<Module> as_child(nb::handle o, const char* who) {
  DY_CHECK_AS(TypeError, is_module(o), "{}: it holds modules, not {}", who, Py_TYPE(o.ptr())->tp_name);
  return nb::cast<std::shared_ptr<Module>>(o);
}
nb::object child_at(nb::handle self, int64_t i) {
  auto& children = nb::cast<Module&>(self).children();
  auto n = int64_t(children.size());
  DY_CHECK_AS(IndexError, i >= -n && i < n, "index: {} is out of range: there are {} modules", i, n);
  return as_object(children[size_t(i < 0 ? i + n : i)].second, self);
}
nb::object each_child(nb::handle self) {
  nb::list l;
  for (auto& [name, child] : nb::cast<Module&>(self).children()) l.append(as_object(child, self));
  return l;
}

template <class C> void container(C& c) {
  c.def("__len__", [](Module& m) { return m.children().size(); })
      .def("__getitem__", child_at)
      .def("__iter__", [](nb::handle self) { return each_child(self).attr("__iter__")(); });
}

void add_containers(nb::module_& m) {
  auto sequential = bind<nn::Sequential>(m, "Sequential", "Modules run one after the other.");
  sequential
      .def("__init__",
           [](nb::pointer_and_handle<nn::Sequential> self, nb::args modules) {
             construct(self);
             for (nb::handle o : modules) self.p->append(as_child(o, "Sequential"));
           })
      .def("append", [](nb::handle self, nb::handle o) {
        nb::cast<nn::Sequential&>(self).append(as_child(o, "Sequential"));
        return nb::borrow(self);
      });
  container(sequential);

  using List = nn::ModuleList<Module>;
  auto list = bind<List>(m, "ModuleList", "A list of modules that are called by hand.");
  auto extend = [](List& l, nb::iterable modules) {
    for (nb::handle o : modules) l.append(as_child(o, "ModuleList"));
  };
  list.def("__init__",
           [extend](nb::pointer_and_handle<List> self, nb::iterable modules) {
             construct(self);
             extend(*self.p, modules);
           },
           nb::arg("modules") = nb::tuple())
      .def("append", [](nb::handle self, nb::handle o) {
        nb::cast<List&>(self).append(as_child(o, "ModuleList"));
        return nb::borrow(self);
      })
      .def("extend", extend);
  container(list);
}

void add_tree(nb::class_<Module, Derived<Module>>& c) {
  c.def("parameters", [](Module& m) {
     nb::list l;
     for (const Tensor& t : m.parameters()) l.append(parameter_object(t));
     return l;
   }, "All parameters of the tree, a tied one once.")
      .def("named_parameters", [](Module& m, const std::string& p) { return pairs(m.named_parameters(p), parameter_object); },
           nb::arg("prefix") = "")
      .def("named_buffers", [](Module& m, const std::string& p) { return pairs(m.named_buffers(p), [](const Tensor& t) { return t; }); },
           nb::arg("prefix") = "")
      .def("named_modules", modules_of, nb::arg("prefix") = "")
      .def("modules", [](nb::handle self) {
        nb::list l;
        for (auto& [name, child] : nb::cast<Module&>(self).named_modules()) l.append(as_object(child, self));
        return l;
      })
      .def("children", each_child)
      .def("named_children", [](nb::handle self) {
        nb::list l;
        for (auto& [name, child] : nb::cast<Module&>(self).children()) l.append(nb::make_tuple(name, as_object(child, self)));
        return l;
      })
      .def("state_dict", state_dict, "Parameters and buffers by name; they share memory with the module.")
      .def("load_state_dict", load_state_dict, nb::arg("state_dict"), nb::arg("strict") = true,
           "Copies values by name; one error lists everything that does not fit.")
      .def("num_parameters", &Module::num_parameters)
      .def("nbytes", &Module::nbytes, "Bytes of parameters and buffers, shared storage once.");
}

void add_changes(nb::class_<Module, Derived<Module>>& c) {
  auto same = [](auto f) {
    return [f](nb::handle self) {
      f(nb::cast<Module&>(self));
      return nb::borrow(self);
    };
  };
  c.def("train", [](nb::handle self, bool on) {
     nb::cast<Module&>(self).train(on);
     return nb::borrow(self);
   }, nb::arg("mode") = true)
      .def("eval", same([](Module& m) { m.eval(); }))
      .def_prop_ro("training", &Module::training)
      .def("to", [](nb::handle self, DType d) {
        nb::cast<Module&>(self).to(d);
        return nb::borrow(self);
      }, nb::arg("dtype"), "Converts the floating-point parameters and buffers.")
      .def("zero_grad", &Module::zero_grad, nb::arg("set_to_none") = true)
      .def("requires_grad_", [](nb::handle self, bool on) {
        nb::cast<Module&>(self).requires_grad_(on);
        return nb::borrow(self);
      }, nb::arg("requires_grad") = true)
      .def("set_parameter", [](Module& m, const std::string& name, const Tensor& t) { m.set_parameter(name, t); }, nb::arg("name"),
           nb::arg("value"), "Replaces a parameter by one of another dtype: what the module computes with from now on.")
      .def("register_parameter", [](nb::handle self, nb::str name, nb::object t) {
        DY_CHECK_AS(TypeError, t.is_none() || is_parameter(t.ptr()), "register_parameter: it takes an nn.Parameter, not {}",
                    Py_TYPE(t.ptr())->tp_name);
        nb::setattr(self, name, t);
      }, nb::arg("name"), nb::arg("param").none())
      .def("register_buffer", [](nb::handle self, const std::string& name, const Tensor& t) {
        nb::cast<Module&>(self).remove(name);
        nb::cast<Module&>(self).register_buffer(name, t);
      }, nb::arg("name"), nb::arg("tensor"), "A tensor that is saved with the module but not trained.")
      .def("add_module", [](nb::handle self, nb::str name, nb::handle child) { nb::setattr(self, name, child); }, nb::arg("name"),
           nb::arg("module"));
}

}  // namespace

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
      .def("forward", [](Module& m, const Tensor& x) { return m.forward(x); }, nb::arg("x"))
      .def("__call__", call_module)
      .def("extra_repr", [](Module& m) { return m.extra_repr(); })
      .def("__repr__", &Module::str);
  add_tree(c);
  add_changes(c);
  add_leaves(m);
  add_containers(m);
}

}  // namespace dyadic::inline v1::python
