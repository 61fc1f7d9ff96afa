#include "dyadic/averaged_model.h"

#include <gtest/gtest.h>

#include "dyadic/nn_layers.h"
#include "dyadic/train.h"

namespace dyadic::inline v1 {
namespace {

struct Net : nn::Module {
  nn::Linear fc{2, 1, false};
  nn::Layer norm{"BatchNorm1d", 1};
  Net() { add("fc", fc), add("norm", norm); }
  Tensor forward(const Tensor& x) override { return norm(fc(x)); }
};
double weight(Net& n) { return n.fc.weight.detach().view({-1})[0].item(); }

TEST(AveragedModel, MeanAndExponential) {
  Net model, mean, ema;
  optim::AveragedModel a(mean, model), e(ema, model, {.decay = 0.75});
  for (double value : {1.0, 2.0, 6.0}) {
    nn::init::constant_(model.fc.weight, value);
    a.update_parameters(model);
    e.update_parameters(model);
  }
  EXPECT_EQ(weight(mean), 3);
  EXPECT_EQ(weight(ema), 0.75 * (0.75 + 0.5) + 1.5);
  EXPECT_EQ(weight(model), 6);
  EXPECT_EQ(a.n_averaged(), 3);
  EXPECT_FALSE(mean.fc.weight.requires_grad());
}

TEST(AveragedModel, BuffersAreTheModelsOrAveraged) {
  Net model, copied, averaged;
  optim::AveragedModel a(copied, model), b(averaged, model, {.use_buffers = true});
  Tensor& running = *model.norm.tensor("running_mean");
  for (double value : {1.0, 3.0}) {
    running.fill_(value);
    a.update_parameters(model);
    b.update_parameters(model);
  }
  EXPECT_EQ(copied.norm.tensor("running_mean")->item(), 3);
  EXPECT_EQ(averaged.norm.tensor("running_mean")->item(), 2);
}

TEST(AveragedModel, IsPartOfACheckpoint) {
  const std::string folder = testing::TempDir() + "averaged_model";
  Net model, kept, again;
  optim::AveragedModel a(kept, model, {.decay = 0.5}), b(again, model, {.decay = 0.5});
  nn::init::constant_(model.fc.weight, 4);
  a.update_parameters(model);
  train::Checkpoint saved(folder), loaded(folder);
  saved.add("model", model).add("ema", a).save(1);
  loaded.add("model", model).add("ema", b);
  ASSERT_TRUE(loaded.resume());
  EXPECT_EQ(weight(again), 4);
  EXPECT_EQ(b.n_averaged(), 1);
  EXPECT_EQ(a.state_dict()[0].first, "n_averaged");
  EXPECT_EQ(a.state_dict()[1].first, "module.fc.weight");
}

TEST(AveragedModel, OfAnotherKind) {
  Net model, mean;
  optim::AveragedModel a(mean, model);
  nn::Linear other(2, 1);
  EXPECT_THROW(a.update_parameters(other), ValueError);
  EXPECT_THROW(optim::AveragedModel(mean, model, {.decay = 1.5}), ValueError);
}

}  // namespace
}  // namespace dyadic::inline v1
