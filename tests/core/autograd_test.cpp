// Autograd's rules: accumulation, no_grad, detach, used graphs, overwritten values, deep chains.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/log.h"
#include "dyadic/autograd.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1 {
namespace {

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "";
}

TEST(Autograd, AccumulatesIntoLeaves) {
  Tensor x = tensor({1., 2, 3}).requires_grad_();
  sum(x * x).backward();
  EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{2, 4, 6}));
  sum(x * 3).backward();
  EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{5, 7, 9}));
}

TEST(Autograd, BroadcastGradientsAreSummed) {
  Tensor x = ones({2, 3}).requires_grad_(), b = ones({3}).requires_grad_(), s = tensor({2.}).view({}).requires_grad_();
  EXPECT_FALSE(s.is_leaf() && !s.requires_grad());
  sum((x + b) * 2).backward();
  EXPECT_EQ(b.grad().to_vector(), (std::vector<double>{4, 4, 4}));
  EXPECT_EQ(x.grad().sizes().vec(), (std::vector<int64_t>{2, 3}));
}

TEST(Autograd, TheGradientOfWhatIsNoLeafIsWarnedAbout) {
  static std::string said;
  set_warning_handler([](std::string_view text) { said = text; });
  Tensor x = ones({2}).requires_grad_(), y = x * 2;
  y.sum().backward();
  EXPECT_TRUE(x.grad().defined() && said.empty());
  EXPECT_FALSE(y.grad().defined());
  EXPECT_NE(said.find("retain_grad()"), std::string::npos);
  set_warning_handler(nullptr);
}

TEST(Autograd, ASecondBackwardSaysWhatToDo) {
  Tensor x = tensor({2.}).requires_grad_();
  Tensor y = sum(x * x);
  y.backward({}, true);
  y.backward();
  EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{8}));
  std::string text = error_of([&] { y.backward(); });
  EXPECT_NE(text.find("retain_graph=true"), std::string::npos) << text;
}

TEST(Autograd, NoGradAndDetachRecordNothing) {
  Tensor x = tensor({2.}).requires_grad_();
  {
    NoGrad guard;
    EXPECT_FALSE((x * x).requires_grad());
  }
  EXPECT_TRUE((x * x).requires_grad());
  EXPECT_EQ((x * x).grad_fn(), "MulBackward0");
  EXPECT_FALSE(x.detach().requires_grad());
  EXPECT_NE(error_of([&] { sum(x.detach()).backward(); }).find("does not require grad"), std::string::npos);
}

TEST(Autograd, AnOverwrittenValueIsAnErrorThatNamesTheOp) {
  Tensor x = tensor({1., 2}).requires_grad_();
  Tensor y = x * 2;
  Tensor z = sum(y * y);
  {
    NoGrad guard;
    y.add_(ones({2}));
  }
  std::string text = error_of([&] { z.backward(); });
  EXPECT_NE(text.find("mul"), std::string::npos) << text;
  EXPECT_NE(text.find("overwritten"), std::string::npos) << text;
}

TEST(Autograd, WhatKeptNothingRunsAgain) {
  Tensor x = tensor({1., 2}).requires_grad_();
  const Tensor plain = sum(x + ones({2})), kept = sum(x * 2);
  plain.backward();
  plain.backward();
  EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{2, 2}));
  kept.backward();
  EXPECT_NE(error_of([&] { kept.backward(); }).find("used up"), std::string::npos);
}

TEST(Autograd, NonScalarNeedsAGradient) {
  Tensor x = eye(4).requires_grad_();
  Tensor y = pow(x + 1, 2);
  EXPECT_NE(error_of([&] { y.backward(); }).find("ones_like"), std::string::npos);
  y.backward(ones_like(y), true);
  EXPECT_EQ(x.grad()[0][0].item(), 4);
  y.backward(ones_like(y), true);
  EXPECT_EQ(x.grad()[0][0].item(), 8);
}

TEST(Autograd, DoubleBackward) {
  Tensor x = tensor({0.5, 1.5}, f64).requires_grad_();
  Tensor y = sum(sin(x) * x);
  Tensor in[] = {x}, out[] = {y};
  Tensor g = grad(out, in, {}, false, true)[0];
  Tensor second[] = {sum(g)};
  Tensor gg = grad(second, in)[0];
  for (int i = 0; i < 2; ++i) {
    double v = i ? 1.5 : 0.5;
    EXPECT_NEAR(gg[i].item(), 2 * std::cos(v) - v * std::sin(v), 1e-12);
  }
}

TEST(Autograd, AChainTooLongForTheStackComesAndGoes) {
  Tensor x = tensor({1.}).requires_grad_();
  Tensor y = x;
  for (int i = 0; i < 150000; ++i) y = y + x;
  sum(y).backward();
  EXPECT_EQ(x.grad().item(), 150001);
}

TEST(Autograd, LeavesNothingBehind) {
  int64_t before = memory_allocated();
  {
    Tensor x = randn({64, 64}).requires_grad_();
    sum(matmul(x, x) * x).backward();
  }
  EXPECT_EQ(memory_allocated(), before);
}

// A tensor that holds, by way of its history, what saved it: it must not keep itself alive.
TEST(Autograd, WhatIsWrittenOverItsOwnHistoryGoes) {
  int64_t before = memory_allocated();
  {
    Tensor w = randn({64}).requires_grad_();
    Tensor x = mul(w, 2.0);
    x.mul_(sin(x));
    Tensor y = randn({64});
    y.mul_(sin(mul(w, y)));
    Tensor z = mul(w, 2.0);
    call_inplace(Op::multigammaln_, z, int64_t{3});
    EXPECT_THROW(sum(x + y).backward(), Error);
  }
  EXPECT_EQ(memory_allocated(), before);
}

TEST(Autograd, NodesAreCalledByTheOpTheyStandFor) {
  const Tensor x = randn({2, 3}).requires_grad_();
  const Tensor target = tensor({0, 1}, i64);
  EXPECT_EQ(x.grad_fn(), "");
  EXPECT_EQ(softmax(x, 1).grad_fn(), "SoftmaxBackward0");
  EXPECT_EQ(stack(std::vector<Tensor>{x, x}, 0).grad_fn(), "StackBackward0");
  EXPECT_EQ(cross_entropy(x, target).grad_fn(), "NllLossBackward0");
  EXPECT_EQ(sum(x, {1}).grad_fn(), "SumBackward1");
  EXPECT_EQ(matmul(x, x.t()).grad_fn(), "MmBackward0");
  EXPECT_EQ(log1p(x).grad_fn(), "Log1PBackward0");
  EXPECT_EQ(dropout(x, 0.5, false).grad_fn(), "");  // it is x
}

}  // namespace
}  // namespace dyadic::inline v1
