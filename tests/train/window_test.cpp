// Gradient accumulation: a window of batches steps as one batch, the last of an epoch with what is left.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/train/run.h"

namespace dyadic::test {
namespace {

struct Trained {
  std::vector<double> weights;
  int steps = 0;
};
Trained trained(int64_t batch_size, int64_t length) {
  const Tensor x = arange(0, 33, 1, f32).view({11, 3}) * 0.1, y = cos(x);
  manual_seed(0);
  nn::Linear model(3, 3);
  optim::Optimizer sgd("SGD", model.named_parameters(), {{"lr", 0.01}});
  data::DataLoader loader(std::make_shared<data::TensorDataset>(std::vector<Tensor>{x, y}), {.batch_size = batch_size});
  Trained t;
  auto epoch = loader.iter();
  while (auto window = train::next_window(*epoch, length)) {
    double sum = 0;
    for (auto& [weight, batch] : *window) {
      (mse_loss(model(batch[0]), batch[1]) * weight).backward();
      sum += weight;
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    sgd.step();
    sgd.zero_grad();
    ++t.steps;
  }
  t.weights = model.weight.to_vector();
  return t;
}

TEST(Window, StepsAsOneBatch) {
  const Trained one = trained(8, 1), four = trained(2, 4);  // the last: 2 + 1 samples
  EXPECT_EQ(one.steps, 2);
  EXPECT_EQ(four.steps, 2);
  for (size_t i = 0; i < one.weights.size(); ++i) EXPECT_NEAR(one.weights[i], four.weights[i], 1e-6);
  data::DataLoader loader(std::make_shared<data::TensorDataset>(std::vector<Tensor>{zeros({2})}));
  EXPECT_THROW(train::next_window(*loader.iter(), 0), ValueError);
}

}  // namespace
}  // namespace dyadic::test
