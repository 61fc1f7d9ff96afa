// What a training step of a GPT counts, against the formulas one writes on paper.
#include <gtest/gtest.h>

#include <map>

#include "dyadic/dyadic.h"
#include "dyadic/gpt.h"

namespace dyadic::inline v1 {
namespace {

TEST(GptStep, CountsWhatTheFormulasSay) {
  // GPT-2 small, four sequences of 512. Nothing is computed: counts come from shapes.
  const models::GptConfig config{.vocab = 50257, .block = 512, .layers = 12, .heads = 12, .width = 768};
  const int64_t batch = 4, length = 512;
  models::Gpt model(config, {.device = meta});
  optim::AdamW optimizer(model.named_parameters(), {});
  double weights = double(config.vocab * config.width), all = 0;  // that tokens are multiplied by, the head's among them
  for (const auto& [name, p] : model.named_parameters()) {
    all += double(p.numel());
    if (p.dim() == 2 && name.starts_with("blocks")) weights += double(p.numel());
  }
  const Tensor tokens = empty({batch, length}, i64, meta);
  Counting::clear();
  {
    Counting counting;
    model.loss(tokens, tokens).backward();
    optimizer.step();
  }
  std::map<std::string, double> by_op;
  double total = 0;
  for (const OpCount& c : Counting::counts()) by_op[c.op] += c.flops, total += c.flops;
  Counting::clear();

  const double n = double(batch * length);
  // Forward 2 products, backward 5 (scores are computed again), over half of the pairs.
  const double attention = 14.0 * double(config.layers * config.width) * n * double(length) / 2;
  const double products = 6 * weights * n;
  EXPECT_NEAR(by_op["linear"] + by_op["matmul"], products, 0.01 * products);
  EXPECT_NEAR(total, products + attention, 0.01 * (products + attention)) << Counting::table();
  EXPECT_DOUBLE_EQ(by_op["adamw_step"], 16 * all);  // two states
  // Elementwise ops count in both directions.
  EXPECT_GT(by_op["gelu"] + by_op["gelu_tanh"], 0);
  EXPECT_GT(by_op["gelu_backward"] + by_op["gelu_tanh_backward"], 0);
}

}  // namespace
}  // namespace dyadic::inline v1
