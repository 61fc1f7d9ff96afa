// C++ scopes for Python's with statements.
#pragma once
#include <memory>
#include <vector>

#include "base/check.h"

namespace dyadic::inline v1::python {

// A C++ scope as something with enter() and exit(): Python's with statements nest, and so do these.
template <class Scope> struct Entered {
  std::vector<std::unique_ptr<Scope>> scopes;
  Entered() = default;
  Entered(const Entered&) = delete;
  void exit() {
    DY_CHECK(!scopes.empty(), "exit: the scope was not entered");
    scopes.pop_back();
  }
};

}  // namespace dyadic::inline v1::python
