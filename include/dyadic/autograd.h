// Backward passes beside Tensor::backward: gradients as values, and their check against finite differences.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "dyadic/call.h"

namespace dyadic::inline v1 {

// d(sum of outputs . gradients) / d(inputs), as values: nothing is accumulated into .grad. An undefined gradient stands for
// ones of a one-element output. create_graph records the backward itself, so that the result can be differentiated again. An
// input that the outputs don't depend on: an error, or with allow_unused an undefined tensor.
std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> grad_outputs = {}, bool retain_graph = false, bool create_graph = false,
                         bool allow_unused = false);

// Compares the gradient of f (any outputs, float64 inputs that require grad) with central differences. Throws Error naming the
// input, element and both values when they differ by more than atol + rtol * |numeric|; returns true otherwise.
bool gradcheck(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& inputs,
               double eps = 1e-6, double atol = 1e-5, double rtol = 1e-3);

// Called with the gradient of a leaf or an intermediate `t` when it is complete; a defined result replaces it.
void register_hook(const Tensor& t, std::function<Tensor(const Tensor&)> hook);

}  // namespace dyadic::inline v1
