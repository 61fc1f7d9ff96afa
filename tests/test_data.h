// Where the tests' data lies.
#pragma once
#include <string>
#include <string_view>

std::string test_data(std::string_view path);  // of a file below tests/
