// Random orders as functions of one draw.
#pragma once
#include "dyadic/data.h"

namespace dyadic::inline v1::data {

GeneratorState draw_from(const Generators& generator);  // from the thread's generator if null
std::vector<int64_t> permutation(int64_t n, GeneratorState draw);

}  // namespace dyadic::inline v1::data
