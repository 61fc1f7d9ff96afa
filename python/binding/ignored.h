// Arguments that are accepted and change nothing, as dyadic/_ignored.py has them: tools/make_ignored.py reads {function, name,
// why} out of the sources for the reference.
#pragma once
#include "object.h"

namespace dyadic::inline v1::python {

struct Ignored {
  const char *function, *name, *why;
};
inline nb::arg ignored(Ignored i) { return nb::arg(i.name); }

// Of ops: PyTorch's words about memory.
constexpr Ignored kMemory[] = {{"every function that makes a tensor", "layout", "every tensor is strided"},
                               {"every function that makes a tensor", "pin_memory", "there is one device"},
                               {"every function that makes a tensor", "memory_format", "memory has one layout"}};
constexpr Ignored kFormat = {"contiguous and clone", "memory_format", "memory has one layout"};

}  // namespace dyadic::inline v1::python
