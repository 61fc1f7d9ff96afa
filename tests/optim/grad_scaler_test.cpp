// Dynamic loss scaling: PyTorch's rules, several optimizers, and the error that names who is not finite.
#include <gtest/gtest.h>

#include <cmath>

#include "dyadic/dyadic.h"
#include "dyadic/optim.h"

namespace dyadic::test {
namespace {

using optim::GradScaler;
using optim::Optimizer;

Tensor parameter(double value) { return full({4}, value, f32).requires_grad_(); }
std::string error_of(auto f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

TEST(GradScaler, GrowsAndBacksOff) {
  const Tensor p = parameter(1);
  Optimizer sgd("SGD", {{"p", p}}, {{"lr", 0.5}});
  GradScaler scaler({.init_scale = 8, .growth_factor = 4, .backoff_factor = 0.25, .growth_interval = 2});
  auto step = [&](double gradient) {
    p.set_grad(full({4}, gradient * scaler.get_scale(), f32));
    const bool stepped = scaler.step(sgd);
    scaler.update();
    return stepped;
  };
  EXPECT_TRUE(step(1));
  EXPECT_EQ(p.to_vector()[0], 0.5);  // unscaled
  EXPECT_EQ(scaler.get_scale(), 8);
  EXPECT_TRUE(step(1));
  EXPECT_EQ(scaler.get_scale(), 32);
  EXPECT_FALSE(step(INFINITY));
  EXPECT_EQ(p.to_vector()[0], 0);
  EXPECT_EQ(scaler.get_scale(), 8);
  EXPECT_EQ(scaler.skipped(), 1);
  EXPECT_TRUE(step(1));
  EXPECT_EQ(scaler.growth_tracker(), 1);
  p.set_grad(full({4}, 8.0, f32));
  scaler.step(sgd);
  scaler.update(1024);  // a new scale
  EXPECT_EQ(scaler.get_scale(), 1024);
  EXPECT_THROW(GradScaler({.growth_factor = 1}), ValueError);
  EXPECT_THROW(GradScaler({.backoff_factor = 1}), ValueError);
}

TEST(GradScaler, UnscalesOnceAndForEachOptimizer) {
  const Tensor p = parameter(0), q = parameter(0);
  Optimizer a("SGD", {{"p", p}}, {{"lr", 1.0}}), b("SGD", {{"q", q}}, {{"lr", 1.0}});
  GradScaler scaler(16);
  EXPECT_EQ(error_of([&] { scaler.update(); }),
            "GradScaler: update() without a step(); the order is scale(loss).backward(), step(optimizer), update()");
  p.set_grad(full({4}, 32.0, f32));
  q.set_grad(full({4}, NAN, f32));
  scaler.unscale_(a);
  EXPECT_EQ(p.grad().to_vector()[0], 2);
  EXPECT_EQ(
      error_of([&] { scaler.unscale_(a); }),
      "GradScaler: unscale_() a second time: this optimizer's gradients are unscaled already; update() ends the iteration");
  EXPECT_TRUE(scaler.step(a));
  EXPECT_EQ(p.to_vector()[0], -2);
  EXPECT_EQ(error_of([&] { scaler.step(a); }),
            "GradScaler: step() a second time for this optimizer; call update() after the steps of an iteration");
  EXPECT_EQ(error_of([&] { scaler.unscale_(a); }),
            "GradScaler: unscale_() comes before step(), and this optimizer has made its step; update() ends the iteration");
  EXPECT_FALSE(scaler.step(b));
  EXPECT_EQ(q.to_vector()[0], 0);
  scaler.update();
  EXPECT_EQ(scaler.get_scale(), 8);
}

TEST(GradScaler, ScalesWhatItIsGiven) {
  const GradScaler scaler(65536), off(65536, false);
  const Tensor loss = scalar_tensor(2.0).to(f16);
  EXPECT_EQ(scaler.scale(loss).item(), 131072);  // in f32: beyond f16's range
  EXPECT_EQ(scaler.scale(std::vector{loss, loss}).size(), 2u);
  EXPECT_EQ(off.scale(loss).dtype(), f16);
  EXPECT_EQ(off.get_scale(), 1);
}

TEST(GradScaler, ManySkippedStepsNameTheFirstBadParameter) {
  const Tensor p = parameter(0), q = parameter(0);
  Optimizer sgd("SGD", {{"head.weight", p}, {"head.bias", q}}, {{"lr", 1.0}});
  GradScaler scaler({.init_scale = 4, .max_skips = 3});
  auto skip = [&] {
    p.set_grad(ones({4}));
    q.set_grad(full({4}, NAN, f32));
    scaler.step(sgd);
    scaler.update();
  };
  skip(), skip();
  EXPECT_EQ(error_of(skip),
            "GradScaler: 3 steps in a row were skipped: the gradient of head.bias is not finite even at a scale of 1; lower "
            "the learning rate, or look for its cause with Anomaly");
}

// Parameters without names of their own are known by the module whose backward made the gradient.
TEST(GradScaler, NamesTheModuleOfAnUnnamedParameter) {
  struct Model : nn::Module {
    nn::Linear up{4, 4}, down{4, 4};
    Model() {
      add("up", up);
      add("down", down);
    }
    Tensor forward(const Tensor& x) override { return down(up(x)); }
  } model;
  nn::NamedTensors unnamed;
  for (auto& [name, p] : model.named_parameters()) unnamed.emplace_back(std::to_string(unnamed.size()), p);
  Optimizer sgd("SGD", unnamed, {});
  GradScaler scaler({.init_scale = 4, .max_skips = 1});
  mul(sum(model(randn({2, 4}))), INFINITY).backward();
  scaler.step(sgd);
  EXPECT_EQ(error_of([&] { scaler.update(); }),
            "GradScaler: 1 steps in a row were skipped: the gradient of 0 (of up) is not finite even at a scale of 4; lower "
            "the learning rate, or look for its cause with Anomaly");
}

}  // namespace
}  // namespace dyadic::test
