// A record's signature, parsed: what bindings, stubs, in-place forms and the op suite read.
#pragma once
#include <string>
#include <vector>

#include "corridor/call.h"

namespace dyadic::inline v1 {

// Types of the notation: Tensor, Tensor?, Tensor[], Scalar, int, float, bool, int[], ScalarType, Device, str; `?` is optional.
struct Parameter {
  std::string type, name, fallback;  // fallback: the default's text, empty if required
  bool optional = false;             // type ends in ?
  bool keyword_only = false;
  bool written = false;  // Tensor(a!)
};
struct Signature {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<std::string> returns;
  bool method() const { return !parameters.empty() && parameters[0].name == "self"; }
};
Signature parse_signature(const char* text);
const Signature& signature(Op op);  // parsed once
Op find_op(std::string_view name);  // ValueError with the nearest name
// The default of a parameter as an argument; lists and text live as long as the signature.
Arg default_argument(const Parameter& p);

}  // namespace dyadic::inline v1
