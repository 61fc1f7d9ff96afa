// What the methods' files share.
#pragma once
#include "dyadic/quant.h"

namespace dyadic::inline v1::quant {

std::string refuses_unencodable(DType format);  // anything with scales that can be encoded is served
std::string refuses_without_codes(DType format);
Tensor to_nearest(const Tensor& weight, DType format);  // rounding to nearest
// The weight's share of task.options, by name.
inline double number(const Task& t, std::string_view name) { return t.options.number(name); }

}  // namespace dyadic::inline v1::quant
