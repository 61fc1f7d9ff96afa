// What is done to gradients between backward and a step, as ops: counted and observed like any other.
#pragma once
#include "dyadic/nn.h"

namespace dyadic::inline v1::optim {

// The sum of all elements' squares, a tensor after the other; 0 on meta. A device is waited for once.
double grad_squares(std::span<const Tensor> grads);
// The p-norm of all elements together is made of a number from each tensor, in results of one or more of them.
struct NormSum {
  double p, total = 0;
  void add(double part);
  double norm() const;
};
// Those numbers, f64, of tensors with elements. ValueError for p below 0.
std::vector<Tensor> norm_parts(std::span<const Tensor> tensors, double p);
double norm_of(std::span<const Tensor> parts, double p);  // on meta 0. A device is waited for once
// clip_grad_norm_() without reading the norm: f64[], and the same bits in the gradients.
Tensor clip_in_calls(std::span<const Tensor> gradients, double max_norm, double p);
// In place, a factor for every element; the first tensor of which one is not finite then, or -1 (on meta always).
int64_t grad_unscale(std::span<const Tensor> grads, double factor);

}  // namespace dyadic::inline v1::optim
