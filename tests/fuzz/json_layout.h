// Before every file that clang compiles here: nlohmann's ordered_map has a member that takes no room for g++ and eight bytes
// for clang, which does not count [[no_unique_address]] among its attributes when asked in C's way. The library is g++'s.
#pragma once
#include <nlohmann/detail/macro_scope.hpp>
#undef JSON_NO_UNIQUE_ADDRESS
#define JSON_NO_UNIQUE_ADDRESS [[no_unique_address]]
#include <nlohmann/json.hpp>

static_assert(sizeof(nlohmann::ordered_json::object_t) == sizeof(nlohmann::ordered_json::array_t));
