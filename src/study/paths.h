// Paths of modules and parameters.
#pragma once
#include <string>

namespace dyadic::inline v1::study {

// Of the module that holds it; of the model itself "".
inline std::string parent_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == path.npos ? "" : path.substr(0, dot);
}

}  // namespace dyadic::inline v1::study
