// A small network trained in f32, under bf16 autocast and in f8 with delayed scaling: they end near each other.
#include <gtest/gtest.h>

#include "dyadic/amp.h"
#include "dyadic/dyadic.h"
#include "dyadic/optim.h"

namespace dyadic {
namespace {

// The loss of a teacher's student on data it has not seen, after 300 steps of AdamW.
double student(DType low) {
  manual_seed(11);
  nn::Sequential teacher, model;
  for (nn::Sequential* m : {&teacher, &model}) {
    m->append(std::make_shared<nn::Linear>(16, 64));
    m->append(std::make_shared<nn::GELU>());
    m->append(std::make_shared<nn::Linear>(64, 64));
    m->append(std::make_shared<nn::GELU>());
    m->append(std::make_shared<nn::Linear>(64, 4));
  }
  for (Tensor& p : teacher.parameters()) p.detach().mul_(3.0);
  optim::AdamW adamw(model.named_parameters(), {.lr = 3e-3});
  DelayedScaling scaling;
  auto loss = [&](int64_t rows) {
    const Tensor x = randn({rows, 16});
    Tensor target;
    {
      NoGrad guard;
      target = teacher(x);
    }
    const Autocast scope(low == f32 ? bf16 : low, low != f32, true, &scaling);
    return mse_loss(model(x), target);
  };
  for (int k = 0; k < 300; ++k) {
    adamw.zero_grad();
    loss(256).backward();
    adamw.step();
  }
  NoGrad guard;
  return loss(4096).item();
}

TEST(F8Training, EndsNearBf16) {
  const double f32_loss = student(f32), bf16_loss = student(bf16), f8_loss = student(f8e4m3fn);
  RecordProperty("f32", std::to_string(f32_loss));
  EXPECT_LT(std::abs(bf16_loss / f32_loss - 1), 0.05) << f32_loss << " " << bf16_loss;
  EXPECT_LT(std::abs(f8_loss / bf16_loss - 1), 0.25) << bf16_loss << " " << f8_loss;
  EXPECT_NE(f8_loss, bf16_loss);
}

}  // namespace
}  // namespace dyadic
