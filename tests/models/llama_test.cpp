// The Llama: its size, its positions, its grouped heads, what checkpointing changes (bytes) and what it does not (bits).
#include <gtest/gtest.h>

#include <cmath>

#include "dyadic/dyadic.h"
#include "dyadic/llama.h"

namespace dyadic::testing {
namespace {

using namespace models;

LlamaConfig tiny() { return {.vocab = 11, .layers = 2, .width = 16, .heads = 4, .kv_heads = 2, .hidden = 24}; }

Tensor some_tokens(uint64_t seed, IntList size) {
  manual_seed(seed);
  return randint(0, 11, size);
}

TEST(Llama, TheDefaultHas1100048384Parameters) {
  Llama model({}, {bf16, meta});
  EXPECT_EQ(model.num_parameters(), 1'100'048'384);  // TinyLlama 1.1B's
  EXPECT_EQ(model.nbytes(), 2 * int64_t(1'100'048'384));
}

TEST(Llama, RotaryTurnsPairsByTheirPosition) {
  Tensor x = randn({2, 3, 5, 8}, f64), y = rotary(x, 100);
  for (int64_t t = 0; t < 5; ++t)
    for (int64_t i = 0; i < 4; ++i) {
      const double angle = double(t) * std::pow(100, -2.0 * double(i) / 8);
      const double a = x[1][2][t][i].item(), b = x[1][2][t][i + 4].item();
      EXPECT_NEAR(y[1][2][t][i].item(), a * std::cos(angle) - b * std::sin(angle), 1e-6);
      EXPECT_NEAR(y[1][2][t][i + 4].item(), b * std::cos(angle) + a * std::sin(angle), 1e-6);
    }
  // Products of equal vectors at any two places depend on the distance alone.
  Tensor q = rotary(randn({1, 8}, f64).expand({6, 8})), k = rotary(randn({1, 8}, f64).expand({6, 8}));
  EXPECT_NEAR(dot(q[0], k[2]).item(), dot(q[3], k[5]).item(), 1e-6);
  EXPECT_THROW(rotary(zeros({4, 3})), ValueError);
}

TEST(Llama, GroupedHeadsAreFullHeadsWithRepeatedWeights) {
  LlamaConfig c = tiny(), full_config = c;
  full_config.kv_heads = c.heads;
  manual_seed(1);
  Llama grouped(c), full(full_config);
  nn::NamedTensors state;
  for (auto& [name, t] : grouped.state_dict()) {
    const bool kv = name.ends_with(".k.weight") || name.ends_with(".v.weight");
    state.emplace_back(name, kv ? t.detach().view({2, 1, 4, 16}).expand({2, 2, 4, 16}).reshape({16, 16}) : t.detach());
  }
  full.load_state_dict(state);
  Tensor x = some_tokens(2, {2, 7});
  NoGrad guard;
  EXPECT_LT(amax(abs(grouped(x) - full(x))).item(), 1e-6);
}

TEST(Llama, SeesOnlyWhatCameBefore) {
  manual_seed(1);
  Llama model(tiny());
  Tensor x = some_tokens(2, {1, 6}), changed = x.clone();
  changed.index_put_({0, 5}, (x[0][5].item<int64_t>() + 1) % 11);
  NoGrad guard;
  Tensor difference = amax(abs(model(x) - model(changed)), {2});
  for (int64_t t = 0; t < 5; ++t) EXPECT_EQ(difference[0][t].item(), 0) << t;
  EXPECT_GT(difference[0][5].item(), 0);
}

TEST(Llama, RecomputingGivesTheSameGradientsFromFewerBytes) {
  Tensor x = some_tokens(2, {4, 32}), y = some_tokens(3, {4, 32});
  std::vector<Tensor> gradients[2];
  int64_t activations[2];
  for (bool recompute : {false, true}) {
    LlamaConfig c = tiny();
    c.layers = 8, c.recompute = recompute;
    manual_seed(1);
    Llama model(c);
    reset_peak_memory_stats();
    model.loss(x, y).backward();
    activations[recompute] = memory_stats().peak[size_t(Category::activation)];
    for (const Tensor& p : model.parameters()) gradients[recompute].push_back(p.grad());
  }
  for (size_t i = 0; i < gradients[0].size(); ++i) EXPECT_TRUE(all(eq(gradients[0][i], gradients[1][i])).item<bool>()) << i;
  EXPECT_LT(activations[1], activations[0] / 2);
}

TEST(Llama, TrainsInBf16AsPredicted) {
  auto peak = [](Device device) {
    LlamaConfig c{.vocab = 2048, .layers = 3, .width = 128, .heads = 4, .kv_heads = 2, .hidden = 256, .recompute = true};
    manual_seed(1);
    const MemoryStats before = memory_stats(device);
    reset_peak_memory_stats(device);
    Llama model(c, {bf16, device});
    EXPECT_LE(memory_stats(device).total_peak - memory_stats(device).total, (4 << 16) + 4096)
        << "something stood in another dtype first";
    optim::AdamW optimizer(model.named_parameters(), {.lr = 1e-3, .state = dynamic8, .stochastic_rounding = true},
                           {"tok.weight"});
    double first = 0, last = 0;
    Tensor x = randint(0, 2048, {2, 64}, i64, device);
    for (int step = 0; step < 5; ++step) {
      Tensor loss = model.loss(x, x);
      loss.backward();
      optimizer.step();
      optimizer.zero_grad();
      last = device.is_meta() ? 0 : loss.item();
      if (!step) first = last;
    }
    EXPECT_TRUE(device.is_meta() || last < first) << first << " then " << last;
    return memory_stats(device).total_peak - before.total;
  };
  EXPECT_EQ(peak(meta), peak(cpu));
}

}  // namespace
}  // namespace dyadic::testing
