// The backward engine.
#pragma once
#include "corridor/tape.h"
#include "dyadic/autograd.h"

namespace dyadic::inline v1 {

// Gradient of a pointwise record: its gradient lambdas as tiles, or as ops when the gradient is itself recorded.
void pointwise_backward(const OpDef& op, Grad& g);

// Brings a gradient to the shape and dtype of what it belongs to: sums over broadcast dimensions, casts.
Tensor fit_gradient(Tensor g, const Meta& meta);

}  // namespace dyadic::inline v1
