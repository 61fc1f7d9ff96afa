// What libtorch's programs say, as they say it.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "dyadic/dyadic.h"

namespace torch = dyadic;
namespace F = torch::nn::functional;

TEST(TorchNames, DtypesAndElements) {
  torch::Tensor t = torch::arange(6, torch::kFloat32).view({2, 3});
  EXPECT_EQ(t.dtype(), torch::kFloat);
  EXPECT_EQ(t.to(torch::kLong).dtype(), torch::i64);
  const torch::Tensor turned = t.t();
  auto a = turned.accessor<float, 2>();
  EXPECT_EQ(a.size(0), 3);
  EXPECT_EQ(a[2][1], 5);
  a[0][1] = 9;
  EXPECT_EQ(t.data_ptr<float>()[3], 9);
  EXPECT_THROW((t.accessor<double, 2>()), torch::Error);
  EXPECT_THROW((t.accessor<float, 1>()), torch::Error);
  t.mul_(2).add_(1).clamp_(0, 5);
  EXPECT_EQ(t.to_vector(), (std::vector<double>{1, 3, 5, 5, 5, 5}));
  std::ostringstream out;
  out << t.device() << t.dtype() << t.sizes();
  EXPECT_EQ(out.str(), "cpuf32[2, 3]");
}

TEST(TorchNames, ListsOfParameters) {
  torch::nn::Linear model(2, 1);
  torch::optim::SGD sgd(model.parameters(), {.lr = 1});
  const torch::Tensor before = model.weight.detach().clone();
  F::mse_loss(model(torch::ones({1, 2})), torch::full({1, 1}, 100.0)).backward();
  EXPECT_GT(torch::nn::utils::clip_grad_norm_(model.parameters(), 1), 1);
  sgd.step();
  EXPECT_FALSE(torch::equal(before, model.weight));
  EXPECT_LE((before - model.weight).norm().item(), 1.0001);
  torch::Tensor x = torch::ones({2}).requires_grad_();
  EXPECT_EQ(torch::autograd::grad({(x * x).sum()}, {x})[0].to_vector(), (std::vector<double>{2, 2}));
}

TEST(TorchNames, Files) {
  const std::string path = testing::TempDir() + "torch_names.safetensors";
  const torch::nn::Linear model(3, 2);
  torch::save(model, path);
  torch::nn::Linear other(3, 2);
  torch::load(other, path);
  EXPECT_TRUE(torch::equal(model.weight, other.weight));
  EXPECT_EQ(torch::load(path).size(), 2);
  torch::Tensor t;
  EXPECT_THROW(torch::load(t, path), torch::ValueError);
  torch::save(torch::ones({2}), path);
  torch::load(t, path);
  EXPECT_EQ(t.numel(), 2);
  std::filesystem::remove(path);
}
