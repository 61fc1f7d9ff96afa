// Functions with their own backward, hooks and gradients inside the graph, products with Jacobians.
#include <gtest/gtest.h>

#include "dyadic/autograd.h"
#include "dyadic/dyadic.h"

namespace dyadic {
namespace {

struct Cube : Function<Cube> {
  static constexpr const char* name = "Cube";
  static Tensor forward(FunctionContext& c, const Tensor& x) {
    c.save_for_backward({x});
    return x * x * x;
  }
  static Tensor backward(FunctionContext& c, std::span<const Tensor> g) { return g[0] * 3.0 * square(c.saved_tensors()[0]); }
};
struct SumAndScaled : Function<SumAndScaled> {
  static constexpr const char* name = "SumAndScaled";
  static std::vector<Tensor> forward(FunctionContext& c, const Tensor& a, double scale, const Tensor& b) {
    c.save_for_backward({full({}, scale, f64)});
    return {a + b, a * scale};
  }
  static std::vector<Tensor> backward(FunctionContext& c, std::span<const Tensor> g) {
    return {g[0] + g[1] * c.saved_tensors()[0], c.needs_input_grad(1) ? g[0] : Tensor()};
  }
};
struct Exponential : Function<Exponential> {
  static constexpr const char* name = "Exponential";
  static Tensor forward(FunctionContext& c, const Tensor& x, const std::shared_ptr<int>& note) {
    const Tensor y = exp(x);
    c.save_for_backward({y, full({}, double(*note), f64)});
    return y;
  }
  static Tensor backward(FunctionContext& c, std::span<const Tensor> g) { return g[0] * c.saved_tensors()[0]; }
};
struct Wrong : Function<Wrong> {
  static constexpr const char* name = "Wrong";
  static Tensor forward(FunctionContext&, const Tensor& x) { return x; }
  static Tensor backward(FunctionContext&, std::span<const Tensor>) { return ones({7}, f64); }
};

TEST(CustomFunction, GradientsAndNames) {
  const Tensor x = randn({4}, f64).requires_grad_();
  const Tensor y = Cube::apply(x);
  EXPECT_EQ(y.grad_fn(), "CubeBackward");
  EXPECT_TRUE(gradcheck([](const std::vector<Tensor>& in) { return std::vector<Tensor>{Cube::apply(in[0])}; }, {x}));
  EXPECT_TRUE(gradgradcheck([](const std::vector<Tensor>& in) { return std::vector<Tensor>{Cube::apply(in[0])}; }, {x}));
  {
    NoGrad guard;
    EXPECT_FALSE(Cube::apply(x).requires_grad());
  }
}

// What is saved of an output has no history while it waits, else the function would hold itself; in backward it has.
TEST(CustomFunction, ForgottenWithoutABackward) {
  const auto note = std::make_shared<int>(1);
  const Tensor x = randn({4}, f64).requires_grad_();
  const int64_t before = memory_allocated();
  Exponential::apply(x, note);
  EXPECT_EQ(memory_allocated(), before);
  EXPECT_TRUE(
      gradgradcheck([&](const std::vector<Tensor>& in) { return std::vector<Tensor>{Exponential::apply(in[0], note)}; }, {x}));
}

TEST(CustomFunction, SeveralInputsAndOutputs) {
  const Tensor a = randn({3}, f64).requires_grad_(), b = randn({3}, f64).requires_grad_();
  EXPECT_TRUE(gradcheck([](const std::vector<Tensor>& in) { return SumAndScaled::apply(in[0], 2.5, in[1]); }, {a, b}));
  sum(SumAndScaled::apply(a, 2.5, b)[1]).backward();  // the other output gets zeros
  EXPECT_EQ(a.grad().to_vector(), (std::vector<double>{2.5, 2.5, 2.5}));
  EXPECT_EQ(b.grad().to_vector(), (std::vector<double>{0, 0, 0}));
}

TEST(CustomFunction, Mistakes) {
  const Tensor x = randn({4}, f64).requires_grad_();
  const Tensor same = Wrong::apply(x);
  EXPECT_FALSE(same.is_same(x));
  EXPECT_THROW(sum(same).backward(), Error);
  Tensor w = randn({4}, f64);
  w.requires_grad_();
  const Tensor base = w * 1.0, y = Cube::apply(base);
  {
    NoGrad guard;
    base.fill_(0);
  }
  EXPECT_THROW(sum(y).backward(), Error);
  const Tensor z = Cube::apply(x);
  sum(z).backward();
  EXPECT_THROW(sum(z).backward(), Error);
}

TEST(Hooks, OfTensorsInsideTheGraph) {
  const Tensor x = ones({3}, f64).requires_grad_();
  Tensor y = x * 2;
  y.retain_grad();
  register_hook(y, [](const Tensor& g) { return g * 10; });
  sum(y * y).backward();
  EXPECT_EQ(y.grad().to_vector(), (std::vector<double>{4, 4, 4}));
  EXPECT_EQ(x.grad().to_vector(), (std::vector<double>{80, 80, 80}));
}

TEST(Products, WithJacobians) {
  const Tensor x = randn({3}, f64), w = randn({2, 3}, f64);
  auto f = [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{matmul(w, exp(in[0]))}; };
  const Tensor one[] = {x};
  const Tensor j = jacobian(f, one)[0][0], expected = w * exp(x);
  EXPECT_TRUE(j.sizes() == IntList({2, 3}));
  EXPECT_LT(amax(abs(j - expected)).item(), 1e-14);
  const Tensor v[] = {randn({2}, f64)}, u[] = {randn({3}, f64)};
  EXPECT_LT(amax(abs(vjp(f, one, v).products[0] - matmul(v[0], expected))).item(), 1e-14);
  EXPECT_LT(amax(abs(jvp(f, one, u).products[0] - matmul(expected, u[0]))).item(), 1e-14);
  auto scalar = [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{sum(exp(in[0]) * in[1])}; };
  const Tensor two[] = {x, randn({3}, f64)};
  const auto h = hessian(scalar, two);
  EXPECT_LT(amax(abs(h[0][0] - eye(3, {}, f64) * (exp(x) * two[1]))).item(), 1e-14);
  EXPECT_LT(amax(abs(h[0][1] - eye(3, {}, f64) * exp(x))).item(), 1e-14);
  EXPECT_EQ(amax(abs(h[1][1])).item(), 0);
}

TEST(Backward, SeveralRootsAndRecording) {
  const Tensor x = full({}, 3, f64).requires_grad_();
  const Tensor roots[] = {x * x, x * 5};
  backward(roots);
  EXPECT_EQ(x.grad().item(), 11);
  x.set_grad({});
  (x * x * x).backward({}, false, true);
  EXPECT_EQ(x.grad().item(), 27);
  const Tensor g = x.grad();
  const Tensor again[] = {g}, in[] = {x};
  EXPECT_EQ(grad(again, in)[0].item(), 18);
  x.set_grad({});  // it holds the graph that holds x
}

}  // namespace
}  // namespace dyadic
