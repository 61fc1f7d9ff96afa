// The program `dyadic` out of the extension module, so that a wheel carries the library once (dyadic/_program.py).
#include <nanobind/stl/vector.h>

#include "base/log.h"
#include "cli/command.h"
#include "object.h"

namespace dyadic::inline v1::python {
namespace {

int run_program(const std::vector<std::string>& words) {
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  set_warning_handler(nullptr);  // the program's go to stderr
  Unlocked unlocked;
  return cli::run(static_cast<int>(argv.size()), argv.data());
}

}  // namespace

void add_program(nb::module_& m) { m.def("_program", run_program, nb::arg("words"), "The program's exit code."); }

}  // namespace dyadic::inline v1::python
