// Names of tensors, in GGUF files and of modules.
#pragma once
#include <optional>

#include "models/gguf/architectures.h"

namespace dyadic::inline v1::models {

struct Named {
  const TensorName* entry;
  std::string own;  // the module's, with a * for an expert's number
  std::string gguf;
  int64_t expert = -1;  // of the module's name
  bool second = false;  // of a pair's
};
std::optional<Named> of_gguf(const Architecture& a, std::string_view name);
// The module's, in whatever clothes: "language_model." before it, or its body alone.
std::optional<Named> of_own(const Architecture& a, std::string_view name);

}  // namespace dyadic::inline v1::models
