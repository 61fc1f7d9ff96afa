// What is done to gradients between backward and a step, as ops: counted and observed like any other.
#pragma once
#include "dyadic/nn.h"

namespace dyadic::inline v1::optim {

double grad_squares(const Tensor& grad);  // the sum of its elements' squares; 0 on meta
// clip_grad_norm_() to a 2-norm without reading it: the norm, f64[], and the same bits in the gradients.
Tensor clip_in_calls(const nn::NamedTensors& params, double max_norm);
// In place, a factor for every element; whether all are finite then (on meta: yes).
bool grad_unscale(const Tensor& grad, double factor);

}  // namespace dyadic::inline v1::optim
