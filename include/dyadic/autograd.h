// Backward passes beside Tensor::backward: gradients as values, and their check against finite differences.
#pragma once
#include <memory>
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

namespace detail {
using GradcheckCall = std::vector<Tensor> (*)(void* f, const std::vector<Tensor>& inputs);
bool gradcheck(void* f, GradcheckCall call, const std::vector<Tensor>& inputs, double eps, double atol, double rtol);
using HookCall = Tensor (*)(void* hook, const Tensor& gradient);
void register_hook(const Tensor& t, std::shared_ptr<void> hook, HookCall call);
}  // namespace detail

// Compares the gradient of f (std::vector<Tensor>(const std::vector<Tensor>&), float64 inputs that require grad) with central
// differences. Throws Error naming the input, element and both values when they differ by more than atol + rtol * |numeric|;
// returns true otherwise.
template <class F>
bool gradcheck(F&& f, const std::vector<Tensor>& inputs, double eps = 1e-6, double atol = 1e-5, double rtol = 1e-3) {
  using Plain = std::remove_reference_t<F>;
  return detail::gradcheck(
      (void*)&f, [](void* p, const std::vector<Tensor>& x) -> std::vector<Tensor> { return (*static_cast<Plain*>(p))(x); },
      inputs, eps, atol, rtol);
}

// hook(const Tensor&) is called with the gradient of the leaf `t` when it is complete; a defined result replaces it.
template <class F> void register_hook(const Tensor& t, F hook) {
  detail::register_hook(t, std::make_shared<F>(std::move(hook)),
                        [](void* p, const Tensor& g) -> Tensor { return (*static_cast<F*>(p))(g); });
}

}  // namespace dyadic::inline v1
