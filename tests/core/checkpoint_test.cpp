// Activation checkpointing: less memory, the same bits.
#include <gtest/gtest.h>

#include "dyadic/amp.h"
#include "dyadic/autograd.h"
#include "dyadic/checkpoint.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1 {
namespace {

struct Net {
  Tensor w1, w2;
  Net() {
    manual_seed(5);
    w1 = randn({32, 32}).requires_grad_();
    w2 = randn({32, 32}).requires_grad_();
  }
  Tensor operator()(const Tensor& x) const { return matmul(dropout(tanh(matmul(tanh(matmul(x, w1)), w2)), 0.5), w1); }
};

struct Result {
  std::vector<double> x, w1, w2;
  int64_t activations;
  friend bool operator==(const Result& a, const Result& b) { return a.x == b.x && a.w1 == b.w1 && a.w2 == b.w2; }
};
template <class F> Result run(F forward) {
  const Net net;
  Tensor x = randn({64, 32}).requires_grad_();
  manual_seed(9);
  const Tensor y = forward(net, x);
  const int64_t kept = memory_stats().live[size_t(Category::activation)];
  const Tensor after = rand({1});  // draws behind it are not disturbed
  sum(mul(y, after)).backward();
  return {x.grad().to_vector(), net.w1.grad().to_vector(), net.w2.grad().to_vector(), kept};
}
const auto kPlain = [](const Net& net, const Tensor& x) { return net(x); };
const auto kAgain = [](const Net& net, const Tensor& x) { return checkpoint([&net](const Tensor& t) { return net(t); }, x); };

TEST(Checkpoint, GivesTheSameGradientsAndKeepsTheInputsAlone) {
  const Result plain = run(kPlain), again = run(kAgain);
  EXPECT_EQ(plain, again);
  EXPECT_LT(again.activations, plain.activations);
  EXPECT_EQ(again.activations, 4 * (64 * 32 + 2 * 32 * 32));  // the input, and the leaves that f uses
}

TEST(Checkpoint, EntersAutocastAgain) {
  auto under = [](auto f) {
    return [f](const Net& net, const Tensor& x) {
      const Autocast on(bf16);
      return f(net, x).to(f32);
    };
  };
  EXPECT_EQ(run(under(kPlain)), run(under(kAgain)));
}

TEST(Checkpoint, NestsAndDifferentiatesTwice) {
  auto grads = [](bool again) {
    Tensor x = tensor({0.3, 0.5}, f64).requires_grad_();
    auto cube = [](const Tensor& t) { return t * t * t; };
    const Tensor y = again ? checkpoint([&](const Tensor& t) { return checkpoint(cube, t) * t; }, x) : cube(x) * x;
    const Tensor ys[] = {sum(y)}, xs[] = {x};
    const Tensor first = sum(grad(ys, xs, {}, false, true)[0]), firsts[] = {first};
    return grad(firsts, xs)[0].to_vector();
  };
  const std::vector<double> plain = grads(false), again = grads(true);
  for (size_t i = 0; i < 2; ++i) EXPECT_DOUBLE_EQ(plain[i], again[i]);
}

TEST(Checkpoint, ReturnsSeveralAndTakesSeveral) {
  Tensor a = tensor({1., 2}).requires_grad_(), b = tensor({3., 4});
  const std::vector<Tensor> both =
      checkpoint([](const Tensor& x, const Tensor& y) { return std::vector<Tensor>{x * y, y + 1}; }, a, b);
  EXPECT_TRUE(both[0].requires_grad());
  sum(both[0]).backward();
  EXPECT_EQ(a.grad().to_vector(), b.to_vector());
  const NoGrad guard;
  EXPECT_FALSE(checkpoint([](const Tensor& x) { return x * 2; }, a).requires_grad());
}

TEST(Checkpoint, SaysWhatItCannotDo) {
  Tensor leaf = tensor({1., 2}).requires_grad_();
  const Tensor outside = leaf * 2;
  EXPECT_THROW(checkpoint([&](const Tensor& x) { return x * outside; }, leaf), Error);
  const Tensor input = leaf + 1;
  const Tensor y = checkpoint([](const Tensor& x) { return x * x; }, input);
  {
    const NoGrad guard;
    input.fill_(0);
  }
  EXPECT_THROW(sum(y).backward(), Error);
}

TEST(Checkpoint, NothingToDifferentiateIsNotRecorded) {
  const Tensor x = tensor({1., 2});
  EXPECT_FALSE(checkpoint([](const Tensor& t) { return t * 2; }, x).requires_grad());
}

}  // namespace
}  // namespace dyadic::inline v1
