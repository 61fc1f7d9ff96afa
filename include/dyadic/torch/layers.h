// Layers by libtorch's options. Their parameters are members: conv->weight, conv->options.stride().
#pragma once
#include "dyadic/nn_layers.h"
#include "dyadic/torch/module.h"

namespace torch::nn {

using dyadic::Arg;

// A layer of a record whose forward takes up to three tensors and gives one.
template <class Options> struct Plain : dyadic::nn::Layer {
 private:
  Tensor absent_{};
  Tensor& slot(const char* name) {
    Tensor* t = tensor(name);
    return t ? *t : absent_;
  }

 public:
  Options options;
  Tensor &weight, &bias, &running_mean, &running_var;
  Plain(const char* name, std::span<const Arg> args, const Options& o)
      : Layer(dyadic::nn::layer_def(name), args),
        options(o),
        weight(slot("weight")),
        bias(slot("bias")),
        running_mean(slot("running_mean")),
        running_var(slot("running_var")) {}
  using Layer::forward;
  Tensor forward(const Tensor& a, const Tensor& b) { return (*this)(a, b); }
  Tensor forward(const Tensor& a, const Tensor& b, const Tensor& c) { return (*this)(a, b, c); }
  void reset_running_stats() {
    dyadic::NoGrad guard;
    if (running_mean.defined()) running_mean.zero_(), running_var.fill_(1);
  }
};
// Those that give several, as tuples.
template <class Options> struct Recurrent : Plain<Options> {
  using Plain<Options>::Plain;
  std::tuple<Tensor, Tensor> forward(const Tensor& input, const Tensor& hx) {
    auto r = this->call(input, hx);
    return {r[0], r[1]};
  }
  std::tuple<Tensor, Tensor> forward(const Tensor& input, std::nullptr_t = nullptr) { return forward(input, Tensor()); }
};
using LSTMState = std::tuple<Tensor, Tensor>;
template <class Options> struct LongShortTerm : Plain<Options> {
  using Plain<Options>::Plain;
  std::tuple<Tensor, LSTMState> forward(const Tensor& input, const std::optional<LSTMState>& hx) {
    auto r = hx ? this->call(input, std::get<0>(*hx), std::get<1>(*hx)) : this->call(input);
    return {r[0], {r[1], r[2]}};
  }
  std::tuple<Tensor, LSTMState> forward(const Tensor& input, std::nullptr_t = nullptr) {
    return forward(input, std::optional<LSTMState>());
  }
};
template <class Options> struct RecurrentCell : Plain<Options> {
  using Plain<Options>::Plain;
  Tensor forward(const Tensor& input) override { return this->call(input)[0]; }
  Tensor forward(const Tensor& input, const Tensor& hx) { return this->call(input, hx)[0]; }
};
template <class Options> struct LongShortTermCell : Plain<Options> {
  using Plain<Options>::Plain;
  LSTMState forward(const Tensor& input, const std::optional<LSTMState>& hx) {
    auto r = hx ? this->call(input, std::get<0>(*hx), std::get<1>(*hx)) : this->call(input);
    return {r[0], r[1]};
  }
  LSTMState forward(const Tensor& input, std::nullptr_t = nullptr) { return forward(input, std::optional<LSTMState>()); }
};
template <class Options> struct Attending : Plain<Options> {
  using Plain<Options>::Plain;
  std::tuple<Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const Tensor& key_padding_mask = {}, bool need_weights = true,
                                     const Tensor& attn_mask = {}, bool average_attn_weights = true) {
    auto r = this->call(query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights);
    return {r[0], r[1]};
  }
};
template <class Options> struct Calling : Plain<Options> {
  using Plain<Options>::Plain;
  template <class... A> Tensor forward(const Tensor& x, const A&... a) { return this->call(x, a...)[0]; }
};

#include "dyadic/torch_layers.inc"

}  // namespace torch::nn
