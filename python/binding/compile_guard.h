// What Python code reads beside tensors, as it was: a step runs again without its program while it still is.
#pragma once
#include <bit>
#include <vector>

#include "object.h"

namespace dyadic::inline v1::python {

class Guard {
 public:
  void add_item(nb::dict of, nb::str name,
                nb::object value);                   // what the name is there; value: NULL-like `absent` when it is not
  void add_cell(nb::object cell, nb::object value);  // a variable of an outer function
  void add_dict(nb::dict d);                         // all of it: attributes of an object
  void add_list(nb::list l);
  void add_type(nb::type_object t);  // its attributes
  void add_module(nb::object m);     // whether it is training
  nb::object broken() const;         // what has changed: a name, an object; None: nothing

 private:
  struct Item {
    nb::object of, name, value;
  };
  struct Whole {
    nb::object of, copy;
    uint64_t version;
  };
  std::vector<Item> items_, cells_;
  std::vector<Whole> dicts_, lists_;
  std::vector<std::pair<nb::object, bool>> modules_;
};

}  // namespace dyadic::inline v1::python
