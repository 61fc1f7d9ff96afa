// Losses of distillation by row: what distill.h's means are over.
#pragma once
#include "dyadic/distill.h"

namespace dyadic::inline v1::tune {

Tensor soft_divergence(const Tensor& student, const Tensor& teacher, double temperature);  // [rows, classes] both -> [rows]
Tensor hidden_distance(const Tensor& student, const Tensor& teacher);                      // [..., width] both -> [...]
Tensor relation_divergence(const Tensor& student, const Tensor& teacher, int64_t heads, const Tensor& mask);  // -> [B, T]

}  // namespace dyadic::inline v1::tune
