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
  bool spread = false;   // Tensor[] *tensors: also given one by one
};
// Several ops may share a name in Python, as PyTorch's overloads: "max.dim(...)" is the op max_dim, one of those called max.
struct Signature {
  std::string name, shared_name;
  std::vector<Parameter> parameters;
  std::vector<std::string> returns;       // types
  std::vector<std::string> return_names;  // of several results: "-> (Tensor values, Tensor indices)"; empty where not named
  bool returns_list() const { return returns[0] == "Tensor[]"; }
  bool method() const { return !parameters.empty() && parameters[0].name == "self"; }
};
Signature parse_signature(const char* text);
const Signature& signature(Op op);  // parsed once
std::vector<std::string> aliases(Op op);
Op find_op(std::string_view name);         // by its name or an alias; ValueError with the nearest name
bool in_namespace(std::string_view name);  // linalg_det is dyadic.linalg.det: neither a method nor a name of the package
std::string spelling(std::string name, std::string_view separator = ".");  // linalg_det is linalg.det
// The default of a parameter as an argument; lists and text live as long as the signature.
Arg default_argument(const Parameter& p);

}  // namespace dyadic::inline v1
