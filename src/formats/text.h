// The texts of dtypes: `name` or `name(option,...)`.
#pragma once
#include "formats/format.h"

namespace dyadic::inline v1 {

// Canonical: the block or granularity first, then flags, then a scale type other than f32.
std::string format_text(const FormatDef& def, const Params& params);

const Format* find_scalar(std::string_view name);  // by short or long name; null if there is none
const Format* find_scaled(std::string_view name);  // the record with default parameters

}  // namespace dyadic::inline v1
