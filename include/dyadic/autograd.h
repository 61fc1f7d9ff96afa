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
std::vector<Tensor> grad(TensorList outputs, TensorList inputs, TensorList grad_outputs = {}, bool retain_graph = false,
                         bool create_graph = false, bool allow_unused = false);

// Accumulates d(sum of outputs . gradients) into the leaves' .grad; several outputs in one pass. With create_graph a leaf's
// .grad keeps the graph, which keeps the leaf: set_grad({}) lets them go; or use grad(). With inputs only these get a gradient.
void backward(TensorList outputs, TensorList grad_outputs = {}, bool retain_graph = false, bool create_graph = false,
              TensorList inputs = {});

namespace detail {
using GradcheckCall = std::vector<Tensor> (*)(void* f, const std::vector<Tensor>& inputs);
bool gradcheck(void* f, GradcheckCall call, const std::vector<Tensor>& inputs, double eps, double atol, double rtol);
using HookCall = Tensor (*)(void* hook, const Tensor& gradient);
void register_hook(const Tensor& t, std::shared_ptr<void> hook, HookCall call);
using LateHookCall = void (*)(void* hook, const Tensor& leaf);
void register_late_hook(const Tensor& t, std::shared_ptr<void> hook, LateHookCall call);
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

// gradcheck of f's gradient as a function of the inputs and of (random) gradients of the outputs.
template <class F>
bool gradgradcheck(F&& f, const std::vector<Tensor>& inputs, double eps = 1e-6, double atol = 1e-5, double rtol = 1e-3);

// hook(const Tensor&) is called with the gradient of `t` when it is complete; a defined result, if it has one, replaces it.
template <class F> void register_hook(const Tensor& t, F hook) {
  detail::register_hook(t, std::make_shared<F>(std::move(hook)), [](void* p, const Tensor& g) -> Tensor {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, const Tensor&>>)
      return (*static_cast<F*>(p))(g), Tensor();
    else
      return (*static_cast<F*>(p))(g);
  });
}

template <class F> void Tensor::register_hook(F hook) const { dyadic::register_hook(*this, std::move(hook)); }

// hook(const Tensor&) is called with the leaf `t` when a backward has added to its .grad.
template <class F> void register_post_accumulate_grad_hook(const Tensor& t, F hook) {
  detail::register_late_hook(t, std::make_shared<F>(std::move(hook)),
                             [](void* p, const Tensor& leaf) { (*static_cast<F*>(p))(leaf); });
}

// What a Function's forward leaves for its backward.
class FunctionContext {
  std::vector<Tensor> saved_;
  std::vector<int> output_of_;         // of a saved tensor: the output it is, or -1
  mutable std::vector<Tensor> given_;  // while backward runs
  std::vector<uint32_t> versions_;
  std::vector<bool> needs_;

 public:
  explicit FunctionContext(std::span<const Tensor> inputs);
  void save_for_backward(std::vector<Tensor> tensors);
  const std::vector<Tensor>& saved_tensors() const;               // in backward; an error if one was overwritten since
  bool needs_input_grad(size_t i) const { return needs_.at(i); }  // of the i-th Tensor argument
  void let_go_of(std::span<const Tensor> outputs);                // what is saved of them is kept without its history
  void end_backward() { given_.clear(); }
};

namespace detail {
using FunctionCall = std::vector<Tensor> (*)(FunctionContext& context, std::span<const Tensor> gradients);
std::vector<Tensor> record_function(const char* name, std::span<const Tensor> inputs, std::vector<Tensor> outputs,
                                    std::shared_ptr<FunctionContext> context, FunctionCall backward);
inline std::vector<Tensor> list_of(Tensor t) { return {std::move(t)}; }
inline std::vector<Tensor> list_of(std::vector<Tensor> list) { return list; }
}  // namespace detail

// A function with its own gradient:
//   struct Cube : Function<Cube> {
//     static constexpr const char* name = "Cube";
//     static Tensor forward(FunctionContext& c, const Tensor& x) { c.save_for_backward({x}); return x * x * x; }
//     static Tensor backward(FunctionContext& c, std::span<const Tensor> g) { return g[0] * 3 * square(c.saved_tensors()[0]); }
//   };
//   Tensor y = Cube::apply(x);
// forward takes any arguments and runs unrecorded; it returns a Tensor or several. backward gives a gradient for each Tensor
// argument, undefined where there is none.
template <class F> struct Function {
  template <class... A> static auto apply(const A&... arguments) {
    std::vector<Tensor> inputs;
    auto collect = [&](const auto& a) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(a)>, Tensor>) inputs.push_back(a);
    };
    (collect(arguments), ...);
    auto context = std::make_shared<FunctionContext>(inputs);
    auto result = [&] {
      NoGrad guard;
      return F::forward(*context, arguments...);
    }();
    std::vector<Tensor> outputs = detail::record_function(
        F::name, inputs, detail::list_of(std::move(result)), context,
        [](FunctionContext& c, std::span<const Tensor> g) { return detail::list_of(F::backward(c, g)); });
    if constexpr (std::is_same_v<decltype(result), Tensor>)
      return outputs[0];
    else
      return outputs;
  }
};

// A function of tensors, borrowed for a call: std::vector<Tensor>(const std::vector<Tensor>&).
struct TensorFunction {
  void* f;
  detail::GradcheckCall call;
  template <class F>
  TensorFunction(F&& own)
      : f((void*)&own), call([](void* p, const std::vector<Tensor>& x) -> std::vector<Tensor> {
          return (*static_cast<std::remove_reference_t<F>*>(p))(x);
        }) {}
  std::vector<Tensor> operator()(const std::vector<Tensor>& x) const { return call(f, x); }
};
namespace detail {
bool gradgradcheck(TensorFunction f, const std::vector<Tensor>& inputs, double eps, double atol, double rtol);
}
template <class F> bool gradgradcheck(F&& f, const std::vector<Tensor>& inputs, double eps, double atol, double rtol) {
  return detail::gradgradcheck(f, inputs, eps, atol, rtol);
}
struct Product {
  std::vector<Tensor> outputs, products;
};
// v^T J, a product per input, and J v, one per output (by differentiating v^T J), at `inputs`. v: as the outputs, as the
// inputs; for vjp empty: ones of a scalar. create_graph: the result can be differentiated again.
Product vjp(TensorFunction f, std::span<const Tensor> inputs, std::span<const Tensor> v = {}, bool create_graph = false);
Product jvp(TensorFunction f, std::span<const Tensor> inputs, std::span<const Tensor> v, bool create_graph = false);
// [output][input]: a tensor of the output's sizes followed by the input's. hessian: f gives one scalar; [input][input].
std::vector<std::vector<Tensor>> jacobian(TensorFunction f, std::span<const Tensor> inputs, bool create_graph = false);
std::vector<std::vector<Tensor>> hessian(TensorFunction f, std::span<const Tensor> inputs, bool create_graph = false);

}  // namespace dyadic::inline v1
