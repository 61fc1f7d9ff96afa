// Linear layers in f8 under autocast: codes, scales and their history, gradients, state by name.
#include <gtest/gtest.h>

#include <cmath>

#include "dyadic/amp.h"
#include "dyadic/autograd.h"
#include "dyadic/checkpoint.h"
#include "dyadic/dyadic.h"
#include "dyadic/nn.h"

namespace dyadic {
namespace {

std::map<std::string, std::vector<double>> state_of(const DelayedScaling& s) {
  std::map<std::string, std::vector<double>> all;
  for (auto& [name, t] : s.state_dict()) all[name] = t.to_vector();
  return all;
}
double relative(const Tensor& a, const Tensor& b) {
  return std::sqrt(sum(square(sub(a.detach().to(f64), b.detach().to(f64)))).item() / sum(square(b.detach().to(f64))).item());
}

TEST(F8, MultipliesCodesByPowersOfTwo) {
  manual_seed(1);
  DelayedScaling scaling;
  const Tensor x = randn({16, 32}), w = mul(randn({8, 32}), 0.02).detach().requires_grad_(), b = randn({8}).requires_grad_();
  Tensor y;
  {
    const Autocast scope(f8e4m3fn, true, true, &scaling);
    y = linear(x, w, b);
    EXPECT_EQ(matmul(x, x.t()).dtype(), bf16);  // not a layer
    EXPECT_EQ(exp(x).dtype(), f32);
  }
  EXPECT_EQ(y.dtype(), bf16);
  const auto rounded = [](const Tensor& t, DType to, double largest) {
    const double s = std::exp2(std::floor(std::log2(largest / amax(abs(t)).item())));
    return div(cast(mul(t.detach(), s), to, "nearest", "saturate").to(f64), s);
  };
  const Tensor x8 = rounded(x, f8e4m3fn, 448), w8 = rounded(w, f8e4m3fn, 448);
  EXPECT_LT(relative(y, add(matmul(x8, w8.t()), b.detach().to(f64))), 4e-3);  // bf16's rounding of the result
  EXPECT_GT(relative(matmul(x8, w8.t()), linear(x, w)), 1e-2);                // and f8's of the operands

  const Tensor g = randn({16, 8}), g8 = rounded(g.to(bf16), f8e5m2, 57344);
  const auto gradients = grad(std::vector{y}, std::vector{w, b}, std::vector{g.to(bf16)});
  EXPECT_EQ(gradients[0].dtype(), f32);
  EXPECT_LT(relative(gradients[0], matmul(g8.t(), x8)), 4e-3);
  EXPECT_LT(relative(gradients[1], sum(g.to(bf16), {0}, false, f64)), 1e-6);
}

TEST(F8, ScalesFollowTheHistory) {
  DelayedScaling scaling({.history = 3});
  const Tensor w = ones({4, 4}).requires_grad_();
  auto step = [&](double size) {
    Tensor y;
    {
      const Autocast scope(f8e4m3fn, true, true, &scaling);
      y = linear(full({2, 4}, size, f32), w);
    }
    y.backward(full({2, 4}, size / 8, bf16));
    return y;
  };
  step(100);
  EXPECT_EQ(state_of(scaling)["linear.input"], (std::vector<double>{4, 100, 0, 0}));  // 100 * 4 <= 448 < 100 * 8
  EXPECT_EQ(state_of(scaling)["linear.weight"], (std::vector<double>{256, 1, 0, 0}));
  EXPECT_EQ(state_of(scaling)["linear.gradient"], (std::vector<double>{4096, 12.5, 0, 0}));
  EXPECT_EQ(step(1000).to_vector()[0], 448);  // beyond the scale of the last steps: saturated
  step(10);
  EXPECT_EQ(state_of(scaling)["linear.input"], (std::vector<double>{0.25, 10, 1000, 100}));
  step(10), step(10);
  EXPECT_EQ(state_of(scaling)["linear.input"], (std::vector<double>{32, 10, 10, 10}));
  {
    NoGrad guard;  // evaluation learns nothing
    const Autocast scope(f8e4m3fn, true, true, &scaling);
    linear(full({2, 4}, 400.0, f32), w);
  }
  EXPECT_EQ(state_of(scaling)["linear.input"], (std::vector<double>{32, 10, 10, 10}));
}

struct Model : nn::Module {
  nn::Linear up, down;
  Model() : up(8, 32), down(32, 4) {
    add("up", up);
    add("down", down);
  }
  const char* kind() const override { return "Model"; }
  Tensor forward(const Tensor& x) override { return down(relu(up(x))); }
};

// `steps` steps of SGD on a fixed problem; the state of scaling continues.
void train(Model& model, DelayedScaling& scaling, int from, int steps) {
  for (int k = from; k < from + steps; ++k) {
    manual_seed(uint64_t(100 + k));
    const Tensor x = randn({64, 8});
    Tensor loss;
    {
      const Autocast scope(f8e4m3fn, true, true, &scaling);
      loss = mean(square(sub(model(x), slice(x, 1, 0, 4))));
    }
    loss.backward();
    NoGrad guard;
    for (auto& [name, p] : model.named_parameters()) {
      p.copy_(p - p.grad() * 0.1);
      p.set_grad({});
    }
  }
}

TEST(F8, StateGoesByNameAndResumesBitForBit) {
  manual_seed(7);
  Model whole;
  Model resumed;
  resumed.load_state_dict(whole.state_dict());
  DelayedScaling a, b, c;
  train(whole, a, 0, 6);
  train(resumed, b, 0, 3);
  const auto state = b.state_dict();
  std::vector<std::string> names;
  for (auto& [name, t] : state) names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"down.input", "down.weight", "down.gradient", "up.input", "up.weight", "up.gradient"}));
  c.load_state_dict(state);
  train(resumed, c, 3, 3);
  const auto expected = whole.named_parameters(), got = resumed.named_parameters();
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(got[i].second.to_vector(), expected[i].second.to_vector()) << expected[i].first;
  EXPECT_EQ(state_of(a), state_of(c));
  EXPECT_THROW(c.load_state_dict({{"up", ones({3})}}), ValueError);
}

TEST(F8, ErrorsAndCorners) {
  const Tensor x = randn({2, 4}), w = randn({4, 4}).requires_grad_();
  DelayedScaling scaling;
  Tensor y;
  {
    const Autocast scope(f8e4m3fn, true, true, &scaling);
    y = linear(x, w);
    EXPECT_EQ(linear(x.to(f64), w.detach().to(f64)).dtype(), f64);
    const Tensor bad = linear(full({1, 4}, INFINITY, f32), w);
    EXPECT_TRUE(std::isnan(bad.to_vector()[0]));  // an infinity stays visible
    const Tensor on_meta = linear(zeros({2, 4}, f32, meta), zeros({4, 4}, f32, meta).requires_grad_());
    EXPECT_EQ(on_meta.dtype(), bf16);
  }
  try {
    grad(std::vector{sum(square(y))}, std::vector{w}, {}, false, true);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "autocast: a linear layer in f8e4m3fn is differentiable once; leave create_graph away, or use bf16");
  }
  EXPECT_THROW(DelayedScaling({.history = 0}), ValueError);
}

TEST(F8, CheckpointedLayersUseTheSameScales) {
  manual_seed(3);
  Model model;
  const Tensor x = randn({16, 8});
  std::vector<std::vector<double>> found;
  for (bool again : {false, true}) {
    DelayedScaling scaling;
    Tensor loss;
    {
      const Autocast scope(f8e4m3fn, true, true, &scaling);
      const auto run = [&](const Tensor& in) { return model(in); };
      const Tensor y = again ? checkpoint(run, x) : run(x);
      loss = sum(square(y));
    }
    loss.backward();
    found.push_back(model.up.weight.grad().to_vector());
    for (auto& [name, p] : model.named_parameters()) p.set_grad({});
  }
  EXPECT_EQ(found[0], found[1]);
}

}  // namespace
}  // namespace dyadic
