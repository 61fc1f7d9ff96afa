// What is done to gradients between backward and a step, as ops: counted and observed like any other.
#pragma once
#include "dyadic/nn.h"

namespace dyadic::inline v1::optim {

// The sum of all elements' squares, a tensor after the other; 0 on meta. A device is waited for once.
double grad_squares(std::span<const Tensor> grads);
// clip_grad_norm_() to a 2-norm without reading it: the norm, f64[], and the same bits in the gradients.
Tensor clip_in_calls(const nn::NamedTensors& params, double max_norm);
// In place, a factor for every element; the first tensor of which one is not finite then, or -1 (on meta always).
int64_t grad_unscale(std::span<const Tensor> grads, double factor);

}  // namespace dyadic::inline v1::optim
