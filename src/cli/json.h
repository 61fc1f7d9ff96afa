// How subcommands write JSON.
#pragma once
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace dyadic::inline v1::cli {

using Json = nlohmann::ordered_json;

inline Json number(double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); }  // JSON has no infinity and no NaN
// A document for stdout; what is no UTF-8 becomes U+FFFD. indent -1: one line.
inline std::string json_text(const Json& j, int indent = 1) {
  return j.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dyadic::inline v1::cli
