// Layers made from records, in C++: their parameters, buffers, inputs and words.
#include <gtest/gtest.h>

#include <cmath>

#include "dyadic/dyadic.h"

namespace dyadic::test {
namespace {

TEST(Layer, IsItsOp) {
  nn::Layer conv("Conv2d", 2, 4, IntList{3}, IntList{2}, IntList{1});
  Tensor x = randn({1, 2, 5, 5});
  Tensor expected = conv2d(x, *conv.tensor("weight"), *conv.tensor("bias"), {2}, {1});
  EXPECT_EQ(conv(x).to_vector(), expected.to_vector());
  EXPECT_EQ(conv.num_parameters(), 4 * 2 * 9 + 4);
  EXPECT_EQ(conv.extra_repr(), "2, 4, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1)");
  EXPECT_STREQ(conv.kind(), "Conv2d");
}

TEST(Layer, KeepsRunningStatistics) {
  nn::Layer norm("BatchNorm1d", 1);
  norm(tensor({1., 3}).view({2, 1}));
  EXPECT_NEAR(norm.tensor("running_mean")->item(), 0.2, 1e-6);
  EXPECT_NEAR(norm.tensor("running_var")->item(), 0.9 + 0.1 * 2, 1e-4);
  EXPECT_EQ(norm.tensor("num_batches_tracked")->item<int64_t>(), 1);
  norm.eval();
  norm(tensor({1., 3}).view({2, 1}));
  EXPECT_EQ(norm.tensor("num_batches_tracked")->item<int64_t>(), 1);
}

TEST(Layer, LossesTakeTwoInputs) {
  nn::Layer loss("CrossEntropyLoss", Arg(), -100, std::string_view("sum"));
  Tensor logits = randn({3, 4}), target = tensor({0, 3, 1}, i64);
  EXPECT_EQ(loss(logits, target).item(), cross_entropy(logits, target, "sum").item());
}

std::string message(auto&& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "";
}
TEST(Layer, SaysWhatIsWrong) {
  EXPECT_EQ(message([] { nn::Layer("Conv2", 1); }), "Layer: unknown layer \"Conv2\"; did you mean Conv2d?");
  EXPECT_EQ(message([] { nn::Layer("PixelShuffle"); }),
            "PixelShuffle: an argument is missing: upscale_factor; the signature is PixelShuffle(int upscale_factor)");
  EXPECT_EQ(message([] { nn::Layer("PixelShuffle", 1, 2); }),
            "PixelShuffle: too many arguments: the signature is PixelShuffle(int upscale_factor)");
  EXPECT_EQ(message([] { nn::Layer("MSELoss")(ones({2})); }), "MSELoss: an input is missing: 1 given, target is next");
}

TEST(Layer, WritesInPlaceWhereAsked) {
  Tensor x = tensor({-1., 2});
  EXPECT_TRUE(nn::Layer("ReLU", true)(x).is_same(x));
  EXPECT_EQ(x.to_vector(), std::vector<double>({0, 2}));
  Tensor w = tensor({-1., 2}).requires_grad_(), y = w * 3;
  sum(nn::Layer("LeakyReLU", 0.5, true)(y)).backward();
  EXPECT_EQ(w.grad().to_vector(), std::vector<double>({1.5, 3}));
  EXPECT_EQ(y.to_vector(), std::vector<double>({-1.5, 6}));
}

TEST(Layer, ChecksWhatItNormalizes) {
  EXPECT_EQ(message([] { nn::Layer("BatchNorm2d", 3)(ones({2, 3})); }),
            "BatchNorm2d: wrong number of dimensions: input is f32[2, 3]; it takes 4");
  EXPECT_EQ(message([] { nn::Layer("InstanceNorm1d", 3)(ones({2, 3, 4, 5})); }),
            "InstanceNorm1d: wrong number of dimensions: input is f32[2, 3, 4, 5]; it takes 2 or 3");
  EXPECT_EQ(message([] { nn::Layer("GroupNorm", 3, 4); }),
            "GroupNorm: the groups differ in size: num_channels is 4, num_groups is 3");
  EXPECT_EQ(message([] { nn::Layer("Dropout", 1.5); }), "Dropout: p is not a probability: p is 1.5");
}

TEST(Embedding, BoundsTheRowsItReads) {
  nn::Embedding e(3, 2);
  e.weight.detach().copy_(tensor({3, 4, 0.3, 0.4, 6, 8}).view({3, 2}));
  e.max_norm = 1;
  const Tensor rows = e(tensor({0, 1, 0}, i64));
  EXPECT_LT(amax(abs(rows - tensor({0.6, 0.8, 0.3, 0.4, 0.6, 0.8}).view({3, 2}))).item(), 1e-6);
  EXPECT_EQ(e.weight[2].to_vector(), std::vector<double>({6, 8}));
  nn::Layer bag("EmbeddingBag", 3, 2, std::string_view("sum"), false, Arg(), false, 1.0);
  bag.tensor("weight")->detach().copy_(e.weight.detach());
  EXPECT_NEAR(bag(tensor({2, 2}, i64).view({1, 2}))[0][0].item(), 1.2, 1e-6);
}

TEST(Init, OrthogonalRowsAndGains) {
  Tensor w = empty({3, 5});
  nn::init::orthogonal_(w, 2);
  std::vector<double> product = matmul(w, w.t()).to_vector();
  for (size_t i = 0; i < 9; ++i) EXPECT_NEAR(product[i], i % 4 == 0 ? 4 : 0, 1e-5);
  EXPECT_EQ(message([] { nn::init::xavier_normal_(empty({3})); }),
            "init.xavier_normal_: fans need two dimensions: tensor is f32[3]");
  EXPECT_EQ(nn::init::calculate_gain("relu"), std::sqrt(2.0));
}

}  // namespace
}  // namespace dyadic::test
