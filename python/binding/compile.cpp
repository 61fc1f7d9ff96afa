// Compiled functions: compiler.py wraps what it is given around a Recording.
#include "dyadic/compile.h"

#include "object.h"

namespace dyadic::inline v1::python {
namespace {

struct Recording {
  std::shared_ptr<graph::Recording> own = detail::make_recording();
};

nb::object call(Recording& r, nb::callable function, nb::tuple args, nb::dict kwargs) {
  detail::CompiledRun run(r.own);
  nb::object result = function(*args, **kwargs);
  {
    Unlocked unlocked;
    run.finish();
  }
  return result;
}

}  // namespace

void add_compile(nb::module_& m) {
  nb::class_<Recording>(m, "_Recording")
      .def(nb::init<>())
      .def("call", call, nb::arg("function"), nb::arg("args"), nb::arg("kwargs"), "A run of the compiled function.")
      .def("explain", [](const Recording& r) { return detail::explain(*r.own); });
}

}  // namespace dyadic::inline v1::python
