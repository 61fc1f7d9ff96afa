// convert() with Overflow::saturate.
#pragma once
#include "formats/format.h"

namespace dyadic::inline v1 {

void convert_saturated(const Format& from, const void* source, const Format& to, void* target, int64_t n, const Round& round);

}  // namespace dyadic::inline v1
