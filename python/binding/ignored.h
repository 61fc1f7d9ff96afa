// Arguments that are accepted and change nothing, as dyadic/_ignored.py has them: tools/make_ignored.py reads {function, name,
// why} out of the sources for the reference.
#pragma once
#include "object.h"

namespace dyadic::inline v1::python {

struct Ignored {
  const char *function, *name, *why;
  bool warns = false;
};
inline nb::arg ignored(Ignored i) { return nb::arg(i.name); }

// Of ops: PyTorch's words about memory.
constexpr Ignored kMemory[] = {
    {"every function that makes a tensor", "pin_memory", "there is one device"},
    {"every function that makes a tensor", "memory_format", "results are dense in the order of their sizes", true}};
constexpr Ignored kFormat = {"contiguous and clone", "memory_format", "results are dense in the order of their sizes", true};
constexpr const char* kLayout = "layout";  // of what makes a tensor: strided, or an error

// A memory_format that is not the order of sizes says once that it changes nothing; a layout is strided.
inline void about_memory(const char* who, const char* name, nb::handle value) {
  if (!value.is_none()) nb::module_::import_("dyadic._ignored").attr("about_memory")(who, name, value);
}

}  // namespace dyadic::inline v1::python
