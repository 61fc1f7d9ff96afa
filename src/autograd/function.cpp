// Functions with a backward of their own, and products with Jacobians.
#include "autograd/engine.h"
#include "base/check.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1 {

FunctionContext::FunctionContext(std::span<const Tensor> inputs) {
  for (const Tensor& t : inputs) needs_.push_back(t.defined() && t.requires_grad());
}
void FunctionContext::save_for_backward(std::vector<Tensor> tensors) {
  saved_ = std::move(tensors);
  versions_.clear();
  output_of_.assign(saved_.size(), -1);
  for (const Tensor& t : saved_) versions_.push_back(t.defined() ? t.version() : 0);
}
const std::vector<Tensor>& FunctionContext::saved_tensors() const {
  for (size_t i = 0; i < saved_.size(); ++i)
    DY_CHECK(!saved_[i].defined() || saved_[i].version() == versions_[i],
             "saved_tensors: a tensor needed for backward was overwritten: saved tensor {} was written in place after the "
             "forward; clone it before writing",
             i);
  if (given_.empty())
    for (size_t i = 0; i < saved_.size(); ++i)
      given_.push_back(output_of_[i] < 0 ? saved_[i] : as_own_output(output_of_[i], saved_[i]));
  return given_;
}
void FunctionContext::let_go_of(std::span<const Tensor> outputs) {
  for (size_t i = 0; i < saved_.size(); ++i)
    for (size_t j = 0; j < outputs.size(); ++j)
      if (saved_[i].defined() && saved_[i].is_same(outputs[j])) output_of_[i] = int(j);
  for (size_t i = 0; i < saved_.size(); ++i)
    if (output_of_[i] >= 0) saved_[i] = saved_[i].detach();
}

std::vector<Tensor> detail::record_function(const char* name, std::span<const Tensor> inputs, std::vector<Tensor> outputs,
                                            std::shared_ptr<FunctionContext> context, FunctionCall backward) {
  bool any = false;
  for (const Tensor& t : inputs) any |= t.defined() && t.requires_grad();
  if (!any || !GradMode::enabled()) return outputs;
  NodeExtra function;
  function.name = name;
  FunctionContext& c = *context;
  function.backward = [context = std::move(context), backward](std::span<const Tensor> g) {
    const struct End {
      FunctionContext& context;
      ~End() { context.end_backward(); }
    } end{*context};
    return backward(*context, g);
  };
  dyadic::record_function(inputs, outputs, std::move(function));
  c.let_go_of(outputs);
  return outputs;
}

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

bool detail::gradgradcheck(TensorFunction f, const std::vector<Tensor>& inputs, double eps, double atol, double rtol) {
  const std::vector<Tensor> outputs = f(inputs);
  std::vector<Tensor> all = inputs;
  for (const Tensor& y : outputs) all.push_back(randn(y.sizes(), y.dtype(), y.device()).requires_grad_());
  auto gradients = [&](const std::vector<Tensor>& x) {
    const std::vector<Tensor> in(x.begin(), x.begin() + int64_t(inputs.size())),
        seeds(x.begin() + int64_t(inputs.size()), x.end());
    std::vector<Tensor> wanted;
    for (const Tensor& t : in)
      if (t.requires_grad()) wanted.push_back(t);
    return grad(f(in), wanted, seeds, false, true, true);
  };
  return gradcheck(gradients, all, eps, atol, rtol);
}

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
    std::vector<std::vector<Tensor>> rows(x.size());
    for (int64_t i = 0; i < y.numel(); ++i) {
      Tensor seed = zeros({y.numel()}, y.dtype(), y.device());
      seed.index({i}).fill_(1);
      const Tensor one[] = {y}, seeds[] = {seed.view(y.sizes())};
      const std::vector<Tensor> g = gradient(one, x, seeds, create_graph);
      for (size_t k = 0; k < x.size(); ++k) rows[k].push_back(g[k]);
    }
    result.emplace_back();
    for (size_t k = 0; k < x.size(); ++k)
      result.back().push_back(y.numel() ? stack(rows[k]).view(joined(y.sizes(), x[k].sizes()))
                                        : zeros(joined(y.sizes(), x[k].sizes()), x[k].dtype(), x[k].device()));
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
