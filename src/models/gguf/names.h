// Names of tensors, in GGUF files and of modules.
#pragma once
#include <optional>

#include "models/gguf/architectures.h"

namespace dyadic::inline v1::models {

struct Named {
  const Form* form;  // null: it is the same in both
  std::string own;   // the module's, with a * for an expert's number
  std::string gguf;
  std::string pair;  // of a form of two tensors the second one's name in GGUF
  int64_t layer = -1;
  int64_t expert = -1;  // of the module's name
  bool second = false;  // it is the second
  bool last = false;    // there is an earlier entry for this name in GGUF

  std::string whole_name() const {  // `own` with its expert's number
    const size_t star = expert < 0 ? own.npos : own.find('*');
    return star == own.npos ? own : own.substr(0, star) + std::to_string(expert) + own.substr(star + 1);
  }
};
// last: where there are several entries for a name, not the first.
std::optional<Named> of_gguf(const Architecture& a, std::string_view name, bool last = false);
// The module's, in whatever clothes: "language_model." before it, or its body alone.
std::optional<Named> of_own(const Architecture& a, std::string_view name);

}  // namespace dyadic::inline v1::models
