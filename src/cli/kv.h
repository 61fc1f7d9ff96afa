// The option --kv.
#pragma once
#include <string>

#include "dyadic/models.h"

namespace dyadic::inline v1::cli {

inline constexpr const char* kKvHelp =
    "of the keys and values that are kept of a text: q8_0, i4(group=32), f8e4m3fn ...; KEYS:VALUES is one for each (default: "
    "as "
    "they are computed)";
inline void check_kv(const std::string& text) { models::KvFormats::parse(text).check(); }

}  // namespace dyadic::inline v1::cli
