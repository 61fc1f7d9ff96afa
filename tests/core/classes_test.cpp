// Layers, optimizers and schedules as classes, made from their records: the same as by name.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "dyadic/dyadic.h"

using namespace dyadic;

TEST(Classes, LayersAreTheirRecords) {
  manual_seed(0);
  nn::Conv2d conv(2, 3, {3, 1}, 1, {1, 0}, 1, 1, false);
  manual_seed(0);
  nn::Layer named("Conv2d", 2, 3, IntList{3, 1}, 1, IntList{1, 0}, 1, 1, false);
  const Tensor x = randn({1, 2, 4, 4});
  EXPECT_TRUE(equal(conv(x), named(x)));
  EXPECT_EQ(conv.extra_repr(), named.extra_repr());
  EXPECT_FALSE(conv.tensor("bias"));
  nn::LSTM lstm(4, 5, 2, true, true);
  EXPECT_EQ(lstm.call(randn({2, 3, 4}))[0].sizes(), IntList({2, 3, 5}));
  nn::MaxPool2d pool(2);
  EXPECT_EQ(pool(x).sizes(), IntList({1, 2, 2, 2}));
  nn::CrossEntropyLoss loss(Tensor(), 1, "sum");
  EXPECT_EQ(loss.text("reduction"), "sum");
  EXPECT_EQ(nn::BatchNorm2d(2, 1e-5, std::nullopt).argument("momentum").kind, Arg::Kind::none);
  EXPECT_EQ(nn::Conv1d(1, 1, 1, 1, 0, 1, 1, true, "zeros", {.dtype = bf16}).tensor("weight")->dtype(), bf16);
}

TEST(Classes, LayersTakeOptionsByName) {
  const nn::Conv2d named(2, 4, 3, {.stride = {2, 1}, .groups = 2, .bias = false, .dtype = bf16});
  EXPECT_EQ(named.extra_repr(), nn::Conv2d(2, 4, 3, IntList{2, 1}, 0, 1, 2, false).extra_repr());
  EXPECT_EQ(named.tensor("weight")->dtype(), bf16);
  EXPECT_EQ(nn::Conv2d(1, 1, 3, {.padding = 1}).ints("padding"), IntList({1, 1}));
  EXPECT_EQ(nn::MaxPool2d({2, 3}, {.stride = 1}).ints("kernel_size"), IntList({2, 3}));
  EXPECT_EQ(nn::MaxPool2d({2, 3}).argument("stride").kind, Arg::Kind::none);
  EXPECT_TRUE(nn::LSTM(3, 4, {.bidirectional = true}).boolean("bidirectional"));
  EXPECT_EQ(nn::Upsample({.scale_factor = 2}).argument("size").kind, Arg::Kind::none);
  EXPECT_EQ(nn::BatchNorm2d(2, {.momentum = std::nullopt}).argument("momentum").kind, Arg::Kind::none);
  EXPECT_EQ(nn::CrossEntropyLoss({.label_smoothing = 0.1}).real("label_smoothing"), 0.1);
  EXPECT_FALSE(nn::Linear(2, 3, {.bias = false}).bias.defined());
  EXPECT_EQ(nn::LayerNorm({4}, {.eps = 1e-3}).eps, 1e-3);
  EXPECT_EQ(nn::Embedding(5, 2, {.padding_idx = -1, .max_norm = 2}).padding_idx, 4);
}

TEST(Classes, OptimizersAndSchedulesTakeOptionsByName) {
  nn::Linear model(2, 2);
  optim::SGD sgd(model.named_parameters(), {.lr = 0.5, .momentum = 0.9, .nesterov = true});
  const optim::Options& o = sgd.groups()[0].options;
  EXPECT_EQ(o.number("lr"), 0.5);
  EXPECT_TRUE(o.flag("nesterov"));
  EXPECT_EQ(o.word("state"), "f32");
  EXPECT_FALSE(o.has("compensation"));
  optim::StepLR step(sgd, {.step_size = 1, .gamma = 0.5});
  model(ones({1, 2})).sum().backward();
  sgd.step(), step.step();
  EXPECT_EQ(step.get_last_lr(), std::vector<double>{0.25});
  optim::LambdaLR half(sgd, {[](int64_t epoch) { return epoch ? 0.5 : 1.0; }});
  EXPECT_EQ(optim::Adafactor(model.named_parameters()).groups()[0].options.number("eps", 1), 0.001);
  EXPECT_THROW(optim::Adam(model.named_parameters(), {.betas = {1.5, 0.9}}), ValueError);
  EXPECT_THROW(optim::Adam(model.named_parameters(), {.lr = std::nan("")}), ValueError);
}

TEST(Classes, SizesAndDtypesPrint) {
  std::ostringstream text;
  text << zeros({2, 3}).sizes() << " " << bf16;
  EXPECT_EQ(text.str(), "[2, 3] bf16");
}
