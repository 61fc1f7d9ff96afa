// How a module's weights are stored in a format, and a parameter's memory, replaced.
#pragma once
#include "dyadic/nn.h"

namespace dyadic::inline v1::nn {

// Whether the rows of a module's weights are whole filters: of convolutions, whose last dimension is a few numbers wide.
bool rows_are_filters(const Module& m);
// quantizable(), and filters whose last dimension alone is too short for the format: what in_format() serves.
NamedItems<Tensor> storable(const Module& m, DType format);
// A weight in a scaled format, whose scales are of the rows.
Tensor in_format(const Tensor& weight, DType format, bool filters);

// The tensor stays, whoever holds it (an optimizer, a tied module); its memory and dtype become those of `value`, of the same
// shape. Scaled formats take no gradient.
void store(Tensor t, const Tensor& value);

}  // namespace dyadic::inline v1::nn
