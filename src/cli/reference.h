// What the library has, as one document made from its records: ops, modules, optimizers, schedules, number formats. `dyadic
// ops` shows it as text, as JSON and as a page.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/json.h"
#include "corridor/signature.h"
#include "dyadic/dtype.h"

namespace dyadic::inline v1::cli {

// {"ops": [...], "modules": [...], "optimizers": [...], "schedules": [...], "formats": [...]}. Every entry has name, kind,
// family, doc, python and cpp (lists of declarations), examples; an op has a record per signature that its name stands for.
Json reference();

// The first sentence of a text.
std::string first_sentence(std::string_view text);

// What the public headers declare for an op, by its own name or as what a declaration calls.
std::vector<std::string> cpp_declarations(Op op);
// Modules that are classes of their own in the headers: constructors, the first one as Python spells it, and the comment above
// the class.
struct CppModule {
  std::string name, doc, python;
  std::vector<std::string> constructors;
};
const std::vector<CppModule>& cpp_modules();

// A line of a record's `samples` (tests/op_suite/README.md) as Python.
std::string python_example(std::string_view sample, const Signature& signature, std::string_view spelling);

// Arguments that are accepted and change nothing: {"name" of the function, "language", "arguments", "why", "warns"}.
const Json& ignored_arguments();
// Names of PyTorch's in Python that exist and raise: {"name" of the module, "names", "why"}.
const Json& absent_names();
// What has another meaning here: {"name" of the functions, "why": what holds here}.
const Json& other_meanings();

Json describe_format(DType d);  // cli/formats.cpp

std::string reference_html(const Json& all);
extern const char* const kReferenceStyle;
extern const char* const kReferenceScript;

}  // namespace dyadic::inline v1::cli
