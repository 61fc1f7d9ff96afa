// What runs after a leaf's gradient is there, gradients into chosen tensors, more index tensors than an op has operands, and
// the anomaly that makes backward fail.
#include <gtest/gtest.h>

#include <cmath>

#include "dyadic/dyadic.h"

namespace dy = dyadic;

TEST(late_hook, sees_the_sum) {
  dy::Tensor x = dy::ones({2}).requires_grad_();
  std::vector<double> seen;
  dy::register_post_accumulate_grad_hook(x, [&](const dy::Tensor& t) { seen.push_back(dy::sum(t.grad()).item()); });
  for (int i = 0; i < 2; ++i) dy::sum(x * 3).backward();
  EXPECT_EQ(seen, (std::vector<double>{6, 12}));
  const dy::Tensor y = x * 2;
  EXPECT_THROW(dy::register_post_accumulate_grad_hook(y, [](const dy::Tensor&) {}), dy::Error);
}

TEST(late_hook, backward_into_chosen_inputs) {
  dy::Tensor x = dy::ones({2}).requires_grad_(), y = dy::ones({2}).requires_grad_();
  const dy::Tensor middle = x * y, out = dy::sum(middle * 5);
  const std::vector<dy::Tensor> outputs = {out}, inputs = {x, middle};
  dy::backward(outputs, {}, false, false, inputs);
  EXPECT_FALSE(y.grad().defined());
  EXPECT_EQ(dy::sum(x.grad()).item(), 10);
  EXPECT_EQ(dy::sum(middle.grad()).item(), 10);
}

TEST(late_hook, nine_index_tensors) {
  const std::vector<int64_t> one(9, 1);
  dy::Tensor x = dy::ones(one).requires_grad_();
  const std::vector<dy::Index> key(9, dy::Index(dy::zeros({3}, dy::i64)));
  dy::sum(dy::index(x, key)).backward();
  EXPECT_EQ(x.grad().item(), 3);
}

TEST(late_hook, anomaly_raises_at_nan_alone) {
  dy::Tensor x = dy::zeros({2}).requires_grad_();
  const dy::Anomaly watch(true);
  dy::sum(x / dy::exp(x.detach()) + 1 / (x + 1)).backward();
  dy::sum(dy::log(x)).backward();  // infinite, which is no NaN
  try {
    dy::sum(dy::sqrt(x) * 0).backward();
    FAIL() << "a gradient was nan";
  } catch (const dy::Error& e) {
    EXPECT_NE(std::string(e.what()).find("a gradient is nan: sqrt gave it to input 0"), std::string::npos) << e.what();
  }
}
