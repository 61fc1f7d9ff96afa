// How subcommands write JSON.
#pragma once
#include <cmath>
#include <string>

#include "base/json.h"

namespace dyadic::inline v1::cli {

using Json = nlohmann::ordered_json;

inline Json number(double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); }  // JSON has no infinity and no NaN
// A document for stdout; what is no UTF-8 becomes U+FFFD. indent -1: one line.
inline std::string json_text(const Json& j, int indent = 1) { return dump_json(j, indent, NotUtf8::replaced) + "\n"; }

}  // namespace dyadic::inline v1::cli
