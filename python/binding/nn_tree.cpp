// What a tree of modules has: parameters, buffers, modules, its state by name.
#include <nanobind/eval.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <set>

#include "nn.h"

namespace dyadic::inline v1::python {
namespace {

template <class F> nb::list pairs(const nn::NamedTensors& tensors, F object) {
  nb::list l;
  for (auto& [name, t] : tensors) l.append(nb::make_tuple(name, object(t)));
  return l;
}

nb::dict state_dict(const Module& m) {
  nb::dict d;
  for (auto& [name, t] : m.state_dict()) d[name.c_str()] = t;
  return d;
}
nb::object load_state_dict(Module& m, nb::dict state, bool strict) {
  nn::NamedTensors list;
  for (auto [k, v] : state) list.emplace_back(nb::cast<std::string>(k), nb::cast<Tensor>(v));
  const nn::LoadReport report = m.load_state_dict(list, strict);
  return nb::module_::import_("dyadic.nn._state").attr("LoadReport")(report.missing, report.unexpected);
}

nn::NamedTensors own(const std::vector<std::pair<std::string, Tensor*>>& slots, const std::string& prefix) {
  nn::NamedTensors all;
  for (auto& [name, t] : slots)
    if (t->defined()) all.emplace_back(prefix.empty() ? name : prefix + "." + name, *t);
  return all;
}

// A module that has several names comes once, under the first.
void collect(nb::handle self, const std::string& path, nb::list& into, std::set<PyObject*>* seen) {
  if (seen && !seen->insert(self.ptr()).second) return;
  into.append(nb::make_tuple(path, self));
  for (auto& [name, child] : nb::cast<Module&>(self).children())
    if (child) collect(child_object(self, nb::str(name.c_str()), child), path.empty() ? name : path + "." + name, into, seen);
}
// memo: modules to pass by, with those below them.
nb::list modules_of(nb::handle self, const std::string& prefix, bool once, nb::object memo = nb::none()) {
  nb::list l;
  std::set<PyObject*> seen;
  if (!memo.is_none())
    for (nb::handle m : memo) seen.insert(m.ptr());
  collect(self, prefix, l, once ? &seen : nullptr);
  return l;
}
void collect_parameters(const Module& m, const std::string& prefix, nn::NamedTensors& into) {
  for (auto& entry : own(m.own_parameters(), prefix)) into.push_back(entry);
  for (auto& [name, child] : m.children())
    if (child) collect_parameters(*child, prefix.empty() ? name : prefix + "." + name, into);
}

// A generator, as PyTorch's are: over a list, or over one part of its pairs.
nb::object each(nb::list all, int part = -1) {
  nb::list l = part < 0 ? all : nb::list();
  if (part >= 0)
    for (nb::handle entry : all) l.append(entry[part]);
  static PyObject* const generate = nb::eval("lambda entries: (e for e in entries)").release().ptr();
  return nb::handle(generate)(l);
}

}  // namespace

void add_tree(ModuleClass& c) {
  auto parameters = [](Module& m, const std::string& prefix, bool recurse, bool once) {
    if (recurse && once) return pairs(m.named_parameters(prefix), parameter_object);
    nn::NamedTensors all = own(m.own_parameters(), prefix);
    if (recurse) all.clear(), collect_parameters(m, prefix, all);
    return pairs(all, parameter_object);
  };
  c.def(
       "parameters", [=](Module& m, bool recurse) { return each(parameters(m, "", recurse, true), 1); },
       nb::arg("recurse") = true, "All parameters of the tree, a tied one once.")
      .def(
          "named_parameters",
          [=](Module& m, const std::string& p, bool recurse, bool once) { return each(parameters(m, p, recurse, once)); },
          nb::arg("prefix") = "", nb::arg("recurse") = true, nb::arg("remove_duplicate") = true)
      .def(
          "named_modules",
          [](nb::handle self, nb::object memo, const std::string& p, bool once) {
            nb::list l = modules_of(self, p, once, memo);
            if (once && !memo.is_none())
              for (nb::handle entry : l) memo.attr("add")(entry[1]);
            return each(l);
          },
          nb::arg("memo") = nb::none(), nb::arg("prefix") = "", nb::arg("remove_duplicate") = true)
      .def("modules", [](nb::handle self) { return each(modules_of(self, "", true), 1); })
      .def("_module_entries",
           [](nb::handle self) {
             nb::list l;
             for (auto& [name, child] : nb::cast<Module&>(self).children())
               l.append(nb::make_tuple(name, child_object(self, nb::str(name.c_str()), child)));
             return l;
           })
      .def("_state_dict", state_dict)
      .def("_load_state_dict", load_state_dict, nb::arg("state_dict"), nb::arg("strict"))
      .def("num_parameters", &Module::num_parameters)
      .def(
          "get_memory_footprint", [](Module& m) { return m.nbytes(); }, "nbytes() under the name that transformers gives it.")
      .def("nbytes", &Module::nbytes, "Bytes of parameters and buffers, shared storage once.");
}

}  // namespace dyadic::inline v1::python
