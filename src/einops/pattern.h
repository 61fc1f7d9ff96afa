// A pattern of named dimensions, parsed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "dyadic/einops.h"

namespace dyadic::inline v1::einops {

struct Axis {
  std::string name;     // "..." for an ellipsis, "*" in pack
  int64_t number = -1;  // a number instead of a name
  bool ellipsis() const { return name == "..."; }
  friend bool operator==(const Axis&, const Axis&) = default;
};
struct Group {  // one dimension of the tensor, made of these; of none: size 1
  std::vector<Axis> axes;
  bool composed = false;  // written in parentheses
};
using Side = std::vector<Group>;

struct Pattern {
  std::string text;
  Side left, right;
};

// Parsed once for each text, kept for good; thread-safe.
const Pattern& parse(const char* who, std::string_view text);
Side parse_side(const char* who, std::string_view pattern, std::string_view side);

}  // namespace dyadic::inline v1::einops
