// What changes a tree of modules: modes, dtypes, entries by name, parametrized entries.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "ignored.h"
#include "nn.h"

namespace dyadic::inline v1::python {
namespace {

// What a registration by name refuses, as attributes cannot get it wrong.
void check_name(nb::handle self, const char* who, nb::str name) {
  const std::string text = nb::cast<std::string>(name);
  const bool own = find(nb::cast<Module&>(self).own_parameters(), text);
  // A member of a C++ module that is absent may come back.
  const bool taken = !own && nb::hasattr(self.type(), name) && !nb::getattr(self, name, nb::none()).is_none();
  const char* wrong = text.empty()                  ? "is empty"
                      : text.find('.') != text.npos ? "has a dot"
                      : taken                       ? "is an attribute of the class"
                                                    : nullptr;
  if (wrong) throw nb::key_error(fmt::format("{}: the name \"{}\" {}; take another", who, text, wrong).c_str());
}

nb::object convert_module(nb::handle self, nb::handle target) {
  auto& m = nb::cast<Module&>(self);
  if (!names_device(target.ptr())) {
    auto d = read_dtype(target.ptr());
    DY_CHECK_AS(TypeError, d, "to: an argument has the wrong type: target is {}; it takes a dtype or a device",
                Py_TYPE(target.ptr())->tp_name);
    m.to(*d);
    return nb::borrow(self);
  }
  Device where = *read_device(target.ptr());
  if (where == meta) return self.attr("to_empty")(nb::arg("device") = target);
  for (auto& [name, t] : m.state_dict())
    DY_CHECK_AS(ValueError, !t.is_meta(), "to: nothing to move: {} is on {}; to_empty(device=\"{}\") makes room for values",
                name, t.device().name(), where.name());
  m.to(where);
  return nb::borrow(self);
}

constexpr Ignored kIgnored[] = {{"nn.Module.to", "non_blocking", "there is one device"},
                                {"nn.Module.to", "memory_format", "results are dense in the order of their sizes", true}};
// to(dtype), to(device), to(device, dtype), to(tensor), to(dtype=..., device=...).
nb::object convert_to_all(nb::handle self, nb::args targets, nb::kwargs named) {
  for (auto [key, value] : named) {
    const auto name = nb::cast<std::string>(key);
    DY_CHECK_AS(TypeError, name == "dtype" || name == "device" || name == kIgnored[0].name || name == kIgnored[1].name,
                "to: unknown argument {}; it takes dtype and device", name);
  }
  if (named.contains("memory_format")) about_memory("Module.to", "memory_format", named["memory_format"]);
  for (nb::handle target : targets) {
    if (PyBool_Check(target.ptr())) continue;  // PyTorch's non_blocking
    const bool like = is_tensor(target.ptr());
    if (like) convert_module(self, nb::object(target.attr("device")));
    convert_module(self, like ? nb::object(target.attr("dtype")) : nb::borrow(target));
  }
  for (const char* name : {"dtype", "device"})
    if (named.contains(name) && !nb::handle(named[name]).is_none()) convert_module(self, named[name]);
  return nb::borrow(self);
}

template <class F> nb::list entries(const std::vector<std::pair<std::string, Tensor*>>& slots, F object) {
  nb::list l;
  for (auto& [name, t] : slots) l.append(nb::make_tuple(name, object(*t)));
  return l;
}

nb::object apply(nb::handle self, nb::handle fn) {
  for (nb::handle child : each_child(self))
    if (!child.is_none()) apply(child, fn);
  fn(self);
  return nb::borrow(self);
}

}  // namespace

void add_changes(ModuleClass& c) {
  auto same = [](auto f) {
    return [f](nb::handle self) {
      f(nb::cast<Module&>(self));
      return nb::borrow(self);
    };
  };
  c.def(
       "train",
       [](nb::handle self, bool on) {
         nb::cast<Module&>(self).train(on);
         return nb::borrow(self);
       },
       nb::arg("mode") = true)
      .def("eval", same([](Module& m) { m.eval(); }))
      .def_prop_rw("training", &Module::training, &Module::set_training,
                   "Of this module alone; train() and eval() set the tree's.")
      .def("to", convert_to_all,
           "Converts the floating-point parameters and buffers to a dtype; to a scaled format (nf4, q8_0 ...) the weights that "
           "products and lookups read, where a row has a block of it, and nothing else. To a device, "
           "with gradients: what was made on meta has no values to bring.")
      .def("double", same([](Module& m) { m.to(f64); }))
      .def("float", same([](Module& m) { m.to(f32); }))
      .def("half", same([](Module& m) { m.to(f16); }))
      .def("bfloat16", same([](Module& m) { m.to(bf16); }))
      .def("apply", apply, nb::arg("fn"), "Calls fn on every module of the tree, children first.")
      .def("zero_grad", &Module::zero_grad, nb::arg("set_to_none") = true)
      .def(
          "requires_grad_",
          [](nb::handle self, bool on) {
            nb::cast<Module&>(self).requires_grad_(on);
            return nb::borrow(self);
          },
          nb::arg("requires_grad") = true)
      .def(
          "set_parameter", [](Module& m, const std::string& name, const Tensor& t) { m.set_parameter(name, t); },
          nb::arg("name"), nb::arg("value"),
          "Replaces a parameter by one of another dtype: what the module computes with from now on.")
      .def(
          "register_parameter",
          [](nb::handle self, nb::str name, nb::object t) {
            DY_CHECK_AS(TypeError, t.is_none() || is_parameter(t.ptr()), "register_parameter: it takes an nn.Parameter, not {}",
                        Py_TYPE(t.ptr())->tp_name);
            check_name(self, "register_parameter", name);
            assign_own(self, name, t);
            auto& m = nb::cast<Module&>(self);
            if (t.is_none() && !find(m.own_parameters(), name.c_str())) m.register_parameter(name.c_str(), Tensor());
          },
          nb::arg("name"), nb::arg("param").none())
      .def(
          "register_buffer",
          [](nb::handle self, nb::str name, nb::object t, bool persistent) {
            DY_CHECK_AS(TypeError, t.is_none() || is_tensor(t.ptr()), "register_buffer: it takes a Tensor, not {}",
                        Py_TYPE(t.ptr())->tp_name);
            check_name(self, "register_buffer", name);
            auto& m = nb::cast<Module&>(self);
            if (!find(m.own_buffers(), name.c_str())) forget(m, self, name);
            m.register_buffer(name.c_str(), t.is_none() ? Tensor() : nb::cast<Tensor>(t), persistent);
          },
          nb::arg("name"), nb::arg("tensor").none(), nb::arg("persistent") = true,
          "A tensor that is not trained, and saved with the module if it is persistent.")
      .def("_own_parameters",
           [](Module& m) {
             nb::list l;
             for (auto& [name, t] : m.own_parameters())
               if (t->defined()) l.append(nb::make_tuple(name, parameter_object(*t)));
             return l;
           })
      .def("_own_buffers",
           [](Module& m) {
             nb::list l;
             for (auto& [name, t] : m.own_buffers())
               if (t->defined()) l.append(nb::make_tuple(name, *t, m.is_persistent(name)));
             return l;
           })
      .def("_parameter_entries", [](Module& m) { return entries(m.own_parameters(), parameter_object); })
      .def("_buffer_entries", [](Module& m) { return entries(m.own_buffers(), [](const Tensor& t) { return nb::cast(t); }); })
      .def(
          "_is_persistent", [](Module& m, const std::string& name) { return m.is_persistent(name); }, nb::arg("name"))
      .def(
          "_begin_computed", [](Module& m, const std::string& name) { m.begin_computed(name); }, nb::arg("name"))
      .def(
          "_set_computed", [](Module& m, const std::string& name, const Tensor& value) { *find(m.computed(), name) = value; },
          nb::arg("name"), nb::arg("value"))
      .def(
          "_end_computed", [](Module& m, const std::string& name, const Tensor& t) { m.end_computed(name, t); },
          nb::arg("name"), nb::arg("parameter"))
      .def(
          "_swap",
          [](Module& m, const std::string& name, const Tensor& value) {
            Tensor *parameter = find(m.own_parameters(), name), *slot = parameter ? parameter : find(m.own_buffers(), name);
            DY_CHECK_AS(ValueError, slot, "Module: no parameter or buffer \"{}\"", name);
            const Tensor before = std::exchange(*slot, value);
            return parameter ? parameter_object(before) : nb::cast(before);
          },
          nb::arg("name"), nb::arg("value"), "Puts any tensor in the place of a parameter or buffer; returns what was there.")
      .def(
          "add_module",
          [](nb::handle self, nb::str name, nb::handle child) {
            DY_CHECK_AS(TypeError, child.is_none() || is_module(child), "add_module: it takes a module, not {}",
                        Py_TYPE(child.ptr())->tp_name);
            check_name(self, "add_module", name);
            assign_own(self, name, child);
            auto& m = nb::cast<Module&>(self);
            if (child.is_none() && !has_child(m, name.c_str())) m.add(name.c_str(), std::shared_ptr<Module>());
          },
          nb::arg("name"), nb::arg("module").none());
}

}  // namespace dyadic::inline v1::python
