// Recurrent and transformer layers in C++: their shapes, states, gradients, and hooks around them. Their numbers are compared
// with PyTorch's in tests/python/test_modules.py.
#include <gtest/gtest.h>

#include "dyadic/autograd.h"
#include "dyadic/dyadic.h"

namespace dyadic::test {
namespace {

TEST(Recurrent, ResultsContinueWhereTheStateEnds) {
  for (const char* kind : {"RNN", "LSTM", "GRU"}) {
    nn::Layer m(kind, 3, 4);
    Tensor x = randn({5, 2, 3});
    std::vector<Tensor> whole = m.call(x), first = m.call(narrow(x, 0, 0, 2)), rest;
    Tensor tail = narrow(x, 0, 2, 3);
    rest = first.size() == 3 ? m.call(tail, first[1], first[2]) : m.call(tail, first[1]);
    const Tensor parts[] = {first[0], rest[0]};
    EXPECT_LT(amax(abs(whole[0] - cat(parts))).item(), 1e-6) << kind;
    EXPECT_LT(amax(abs(whole[1] - rest[1])).item(), 1e-6) << kind;
    EXPECT_EQ(m(x).to_vector(), whole[0].to_vector());
  }
}

TEST(Recurrent, GradientsAreDifferentiable) {
  for (const char* kind : {"RNN", "LSTM", "GRU"}) {
    nn::Layer m(kind, 2, 2);
    m.to(f64);
    Tensor x = randn({3, 1, 2}, f64).requires_grad_(), w = *m.tensor("weight_hh_l0");
    auto f = [&](const std::vector<Tensor>& in) {
      m.set_parameter("weight_hh_l0", in[1]);
      return std::vector<Tensor>{m(in[0])};
    };
    const std::vector<Tensor> inputs{x, w.detach().clone().requires_grad_()};
    EXPECT_TRUE(gradcheck(f, inputs)) << kind;
    EXPECT_TRUE(gradgradcheck(f, inputs)) << kind;
  }
}

TEST(Recurrent, MetaPredicts) {
  nn::Layer m(nn::layer_def("LSTM"), std::initializer_list<Arg>{int64_t(3), int64_t(4)}, {.device = meta});
  std::vector<Tensor> out = m.call(empty({5, 2, 3}, f32, meta));
  EXPECT_EQ(out[0].sizes().vec(), (std::vector<int64_t>{5, 2, 4}));
  EXPECT_EQ(out[2].sizes().vec(), (std::vector<int64_t>{1, 2, 4}));
}

struct Doubling : nn::Hook {
  int calls = 0;
  void before(nn::Module&, std::vector<Tensor>& inputs) override { inputs[0] = inputs[0] * 2; }
  void after(nn::Module&, const std::vector<Tensor>&, std::vector<Tensor>& results) override {
    ++calls;
    results[0] = results[0] + 1;
  }
};
TEST(Hook, SeesAndReplaces) {
  nn::Layer layer("TransformerEncoderLayer", 4, 2, 8, 0.0);
  auto hook = std::make_shared<Doubling>();
  Tensor x = randn({3, 1, 4}), plain = layer(x), doubled = layer(x * 2) + 1;
  layer.add_hook(hook);
  layer.layer("self_attn").add_hook(hook);
  layer.layer("self_attn").remove_hook(hook.get());
  EXPECT_EQ(layer(x).to_vector(), doubled.to_vector());
  EXPECT_EQ(layer.call(x)[0].to_vector(), doubled.to_vector());
  EXPECT_EQ(hook->calls, 2);
  layer.remove_hook(hook.get());
  EXPECT_EQ(layer(x).to_vector(), plain.to_vector());
}

TEST(Transformer, KeepsItsCausalPromise) {
  nn::Layer layer("TransformerEncoderLayer", 4, 2, 8, 0.0);
  Tensor x = randn({3, 1, 4}), none;
  Tensor y = layer.call(x, none, none, true)[0], first = layer.call(narrow(x, 0, 0, 1), none, none, true)[0];
  EXPECT_LT(amax(abs(narrow(y, 0, 0, 1) - first)).item(), 1e-5);
}

}  // namespace
}  // namespace dyadic::test
