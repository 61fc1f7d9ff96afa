// Products with Jacobians, and whole ones, from gradients.
#include "autograd/engine.h"
#include "base/check.h"
#include "dyadic/ops.h"
#include "dyadic/vmap.h"

namespace dyadic::inline v1 {
namespace {

// Copies of the inputs that require grad and share nothing with the originals' history, unless that is asked for.
std::vector<Tensor> differentiable(std::span<const Tensor> inputs, bool create_graph) {
  std::vector<Tensor> out;
  for (const Tensor& t : inputs) {
    Tensor own = create_graph && t.requires_grad() ? view(t, t.sizes()) : t.detach();
    if (!own.requires_grad()) own.requires_grad_();
    out.push_back(own);
  }
  return out;
}

// Zeros where nothing depends on an input.
std::vector<Tensor> complete(std::vector<Tensor> gradients, std::span<const Tensor> like) {
  for (size_t i = 0; i < gradients.size(); ++i)
    if (!gradients[i].defined()) gradients[i] = zeros_like(like[i].detach());
  return gradients;
}

std::vector<Tensor> gradient(std::span<const Tensor> outputs, std::span<const Tensor> inputs, std::span<const Tensor> v,
                             bool create_graph) {
  std::vector<Tensor> roots, seeds;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].requires_grad()) {
      roots.push_back(outputs[i]);
      seeds.push_back(i < v.size() ? v[i] : Tensor());
    }
  if (roots.empty()) return complete(std::vector<Tensor>(inputs.size()), inputs);
  return complete(grad(roots, inputs, seeds, true, create_graph, true), inputs);
}

std::vector<int64_t> joined(IntList a, IntList b) {
  std::vector<int64_t> sizes = a.vec();
  sizes.insert(sizes.end(), b.begin(), b.end());
  return sizes;
}

}  // namespace

Product vjp(TensorFunction f, std::span<const Tensor> inputs, std::span<const Tensor> v, bool create_graph) {
  GradMode on(true);
  const std::vector<Tensor> x = differentiable(inputs, create_graph);
  Product p{f(x), {}};
  p.products = gradient(p.outputs, x, v, create_graph);
  if (!create_graph)
    for (Tensor& t : p.outputs) t = t.detach();
  return p;
}

Product jvp(TensorFunction f, std::span<const Tensor> inputs, std::span<const Tensor> v, bool create_graph) {
  DY_CHECK(v.size() == inputs.size(), "jvp: one direction per input: {} given for {}", v.size(), inputs.size());
  GradMode on(true);
  const std::vector<Tensor> x = differentiable(inputs, create_graph);
  Product p{f(x), {}};
  std::vector<Tensor> dummy;  // v^T J is linear in v: its gradient along the directions is J v
  for (const Tensor& t : p.outputs) dummy.push_back(zeros_like(t.detach()).requires_grad_());
  const std::vector<Tensor> transposed = gradient(p.outputs, x, dummy, true);
  p.products = gradient(transposed, dummy, v, create_graph);
  if (!create_graph)
    for (Tensor& t : p.outputs) t = t.detach();
  return p;
}

std::vector<std::vector<Tensor>> jacobian(TensorFunction f, std::span<const Tensor> inputs, bool create_graph) {
  GradMode on(true);
  const std::vector<Tensor> x = differentiable(inputs, create_graph);
  const std::vector<Tensor> outputs = f(x);
  std::vector<std::vector<Tensor>> result;
  for (const Tensor& y : outputs) {
    const int64_t n = y.numel();
    const Tensor one[] = {y}, seeds[] = {eye(n, n, y.dtype(), y.device()).reshape(joined({&n, 1}, y.sizes()))};
    result.push_back(vmap([&](const std::vector<Tensor>& seed) { return gradient(one, x, seed, create_graph); }, seeds));
    for (size_t k = 0; k < x.size(); ++k) result.back()[k] = result.back()[k].reshape(joined(y.sizes(), x[k].sizes()));
  }
  return result;
}

std::vector<std::vector<Tensor>> hessian(TensorFunction f, std::span<const Tensor> inputs, bool create_graph) {
  auto first = [&](const std::vector<Tensor>& x) {
    const std::vector<Tensor> y = f(x);
    DY_CHECK(y.size() == 1 && y[0].numel() == 1, "hessian: the function gives one scalar, not {}",
             y.empty() ? "nothing" : describe(y[0]));
    return gradient(y, x, {}, true);
  };
  return jacobian(first, inputs, create_graph);
}

}  // namespace dyadic::inline v1
