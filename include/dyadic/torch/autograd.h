// Functions with their own gradient as libtorch writes them: forward(AutogradContext*, ...) and
// backward(AutogradContext*, variable_list), which gives one gradient for each argument of forward, undefined where there is
// none.
#pragma once
#include <unordered_map>
#include <variant>

#include "dyadic/autograd.h"
#include "dyadic/torch/names.h"

namespace c10 {
// A value of any of the kinds that a context keeps.
class IValue {
  std::variant<std::monostate, torch::Tensor, double, int64_t, bool, std::string, std::vector<int64_t>,
               std::vector<torch::Tensor>>
      v_{};

 public:
  IValue() = default;
  IValue(torch::Tensor t) : v_(std::move(t)) {}
  template <std::floating_point T> IValue(T v) : v_(double(v)) {}
  template <std::integral T> IValue(T v) {
    if constexpr (std::is_same_v<T, bool>)
      v_ = v;
    else
      v_ = int64_t(v);
  }
  IValue(const char* s) : v_(std::string(s)) {}
  IValue(std::string s) : v_(std::move(s)) {}
  IValue(std::vector<int64_t> v) : v_(std::move(v)) {}
  IValue(torch::IntArrayRef v) : v_(v.vec()) {}
  IValue(std::vector<torch::Tensor> v) : v_(std::move(v)) {}
  template <class T> const T& get(const char* what) const {
    if (const T* v = std::get_if<T>(&v_)) return *v;
    throw torch::TypeError(std::string("IValue: it holds no ") + what);
  }
  bool isNone() const { return v_.index() == 0; }
  double toDouble() const { return get<double>("double"); }
  int64_t toInt() const { return get<int64_t>("int"); }
  bool toBool() const { return get<bool>("bool"); }
  const std::string& toStringRef() const { return get<std::string>("string"); }
  torch::Tensor toTensor() const { return get<torch::Tensor>("Tensor"); }
  std::vector<int64_t> toIntVector() const { return get<std::vector<int64_t>>("list of ints"); }
  std::vector<torch::Tensor> toTensorVector() const { return get<std::vector<torch::Tensor>>("list of Tensors"); }
};
}  // namespace c10

namespace torch {
using c10::IValue;
namespace autograd {

using Variable = Tensor;
using variable_list = std::vector<Tensor>;
using tensor_list = std::vector<Tensor>;
using dyadic::backward, dyadic::grad;

class AutogradContext : public dyadic::FunctionContext {
  template <class F> friend struct Function;
  std::vector<bool> is_tensor_{};  // of forward's arguments, lists of tensors one by one
  variable_list like_{};           // zeros in the shapes of the outputs, of one element in memory
  variable_list plain_{};          // outputs without a history
  bool materialize_ = true;

  bool is_plain(const Tensor& t) const {
    for (const Tensor& p : plain_)
      if (p.is_same(t)) return true;
    return false;
  }

 public:
  using FunctionContext::FunctionContext;
  std::unordered_map<std::string, IValue> saved_data{};
  const variable_list& get_saved_variables() const { return saved_tensors(); }
  // Inputs that forward has written. One with a history would keep its old one, and later gradients through it be wrong.
  void mark_dirty(const variable_list& inputs) {
    for (const Tensor& t : inputs)
      if (t.requires_grad())
        throw Error("mark_dirty: an input that requires grad was written in place: write into its clone(), and return that");
  }
  void mark_non_differentiable(const variable_list& outputs) { plain_ = outputs; }
  void set_materialize_grads(bool on) { materialize_ = on; }
};

template <class F> struct Function {
  template <class... A> static auto apply(A&&... arguments) {
    std::vector<Tensor> inputs;
    std::vector<bool> is_tensor;
    auto collect = [&](const auto& a) {
      using T = std::remove_cvref_t<decltype(a)>;
      if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
        inputs.insert(inputs.end(), a.begin(), a.end());
        is_tensor.insert(is_tensor.end(), a.size(), true);
      } else if constexpr (std::is_convertible_v<const T&, const Tensor&>) {
        inputs.push_back(a);
        is_tensor.push_back(true);
      } else {
        is_tensor.push_back(false);
      }
    };
    (collect(arguments), ...);
    auto context = std::make_shared<AutogradContext>(inputs);
    context->is_tensor_ = std::move(is_tensor);
    auto result = [&] {
      dyadic::NoGrad guard;
      return F::forward(context.get(), arguments...);
    }();
    variable_list outputs = dyadic::detail::list_of(result);
    for (const Tensor& t : outputs) {
      dyadic::NoGrad guard;
      context->like_.push_back(
          zeros({1}, t.dtype(), t.device()).expand({1}).as_strided(t.sizes(), std::vector<int64_t>(size_t(t.dim()), 0)));
    }
    std::vector<bool> plain;
    for (const Tensor& t : outputs) plain.push_back(context->is_plain(t));
    context->plain_.clear();
    outputs = dyadic::detail::record_function("CppNode", inputs, std::move(outputs), context, run_backward);
    for (size_t i = 0; i < plain.size(); ++i)
      if (plain[i]) outputs[i] = outputs[i].detach();
    if constexpr (std::is_same_v<decltype(result), Tensor>)
      return outputs[0];
    else
      return outputs;
  }

 private:
  static variable_list run_backward(dyadic::FunctionContext& c, std::span<const Tensor> g) {
    auto& context = static_cast<AutogradContext&>(c);
    variable_list given(g.begin(), g.end());
    for (size_t i = 0; i < given.size(); ++i)
      if (context.materialize_ && !given[i].defined()) given[i] = context.like_[i];
    const variable_list all = F::backward(&context, std::move(given));
    variable_list of_tensors;
    for (size_t i = 0; i < context.is_tensor_.size(); ++i)
      if (context.is_tensor_[i]) of_tensors.push_back(i < all.size() ? all[i] : Tensor());
    return of_tensors;
  }
};

}  // namespace autograd
using autograd::Variable;
}  // namespace torch
