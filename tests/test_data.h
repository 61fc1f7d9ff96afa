// Where the tests' data lies.
#pragma once
#include <string>
#include <string_view>

std::string test_data(std::string_view path);  // of a file below tests/
inline std::string model_data(const std::string& name) {
  return test_data("models/data/" + name);
}  // small models of each family
