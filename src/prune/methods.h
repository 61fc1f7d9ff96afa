// What the methods' files share.
#pragma once
#include "dyadic/prune.h"

namespace dyadic::inline v1::prune {

extern const Method kSparseGpt;                                       // sparsegpt.cpp
Tensor by_inputs(const Tensor& weight, const quant::Inputs* inputs);  // |w| times the norm of the inputs that it multiplies
Tensor pruned(const Method& m, const Task& task);                     // f32 [out, in]

}  // namespace dyadic::inline v1::prune
