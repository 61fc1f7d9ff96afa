// Module.__init__ of an object of any class.
#include "nn.h"

namespace dyadic::inline v1::python {

std::map<std::type_index, Begin>& beginnings() {
  static std::map<std::type_index, Begin> all{{typeid(Module), begin_bare<Module>}};
  return all;
}

// False: it had begun before.
static bool begin(nb::handle self) {
  if (nb::inst_ready(self)) return false;
  beginnings().at(nb::type_info(self.type()))(self);
  nb::inst_mark_ready(self);
  return true;
}

// Before a layer's __init__ runs on an object that had begun: its C++ object ends. False: it had not.
static bool end(nb::handle self) {
  if (!nb::inst_ready(self)) return false;
  auto& m = nb::cast<Module&>(self);
  std::vector<std::string> names;
  for (auto& [name, child] : m.children()) names.push_back(name);
  for (auto& name : names) forget(m, self, nb::str(name.c_str()));
  nb::inst_destruct(self);
  return true;
}

void add_begin(nb::module_& m) {
  m.def("_end_module", end, nb::arg("module"));
  m.def("_has_begun", nb::inst_ready, nb::arg("module"));
  m.def("_begin_module", begin, nb::arg("module"));
}

}  // namespace dyadic::inline v1::python
