// Names with * (any characters) and ? (one).
#pragma once
#include <string_view>

namespace dyadic::inline v1 {

bool matches(std::string_view pattern, std::string_view name);

}  // namespace dyadic::inline v1
