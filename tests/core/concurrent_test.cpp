// Ops from many threads at once: each trains a model of its own on data that all of them read, and gets the bits it gets alone.
#include <gtest/gtest.h>

#include <thread>

#include "dyadic/amp.h"
#include "dyadic/autograd.h"
#include "dyadic/generator.h"
#include "dyadic/linalg.h"
#include "dyadic/ops.h"
#include "dyadic/optim.h"

namespace dyadic::inline v1 {
namespace {

constexpr int kThreads = 8;

struct Shared {
  Tensor x, targets, table, quantized, symmetric;
};

struct SharedNet : nn::Module {
  nn::Linear first, second;
  nn::LayerNorm norm;
  SharedNet() : first(32, 48), second(48, 5), norm({48}) {
    add("first", first);
    add("second", second);
    add("norm", norm);
  }
  Tensor forward(const Tensor& x) {
    nn::ModuleScope scope(*this);
    return second(dropout(gelu(norm(first(x))), 0.1, true));
  }
};

// Everything that a thread computes, as numbers.
std::vector<double> work(const Shared& s, uint64_t seed) {
  Generator generator(seed);
  GeneratorScope draws(generator);
  SharedNet net;
  optim::Optimizer adam("AdamW", net.named_parameters(), {{"lr", 1e-2}, {"state", seed % 2 ? dynamic8 : f32}});
  std::vector<double> out;
  for (int step = 0; step < 3; ++step) {
    adam.zero_grad();
    std::optional<Autocast> low;
    if (seed % 3 == 0) low.emplace(bf16);
    Tensor loss = cross_entropy(net.forward(s.x), s.targets);
    low.reset();
    loss.backward();
    adam.step();
    out.push_back(loss.item());
  }
  const Tensor large = matmul(s.x, s.quantized.t());  // a scaled operand
  const Tensor sums = add(sum(sort(s.table, 0).values), cumsum(s.table.reshape({-1}), 0)[-1]);
  const Tensor convolved = conv2d(s.table.view({1, 1, 64, 64}), randn({4, 1, 3, 3}));
  Tensor buffer = zeros({8, 64});
  for (int64_t i = 0; i < 8; ++i) buffer[i].copy_(mul(s.table[i], net.norm.named_parameters()[0].second[0]));
  sum(buffer).backward();
  for (const Tensor& t :
       {large, sums, convolved, linalg::cholesky(s.symmetric), einsum("ij,kj->ik", std::vector<Tensor>{s.x, s.x}),
        randperm(100).to(f64), poisson(full({50}, 30.0)), s.table.to(DType::parse("nf4")).to(f32)})
    out.push_back(sum(t.to(f64)).item());
  for (auto& [name, p] : net.named_parameters()) out.push_back(sum(p.to(f64)).item());
  return out;
}

TEST(concurrent, threads_get_what_they_get_alone) {
  manual_seed(3);
  const Tensor half = randn({16, 16});
  Shared s{randn({40, 32}), randint(0, 5, {40}), randn({64, 64}), randn({64, 32}).to(DType::parse("nf4")),
           add(matmul(half, half.t()), eye(16))};
  std::vector<std::vector<double>> alone, together(kThreads);
  for (int i = 0; i < kThreads; ++i) alone.push_back(work(s, uint64_t(i)));
  const int64_t before = memory_stats().total;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { together[size_t(i)] = work(s, uint64_t(i)); });
  for (auto& t : threads) t.join();
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(together[size_t(i)], alone[size_t(i)]) << "thread " << i;
  EXPECT_EQ(memory_stats().total, before);
}

// One model read by all: gradients of a leaf are asked for by grad(), which touches no .grad.
TEST(concurrent, one_model_serves_many_threads) {
  SharedNet net;
  net.train(false);
  Tensor x = randn({8, 32}).requires_grad_();
  auto once = [&] {
    Tensor y = sum(net.second(gelu(net.norm(net.first(x)))));
    return grad({&y, 1}, {&x, 1})[0].to_vector();
  };
  const std::vector<double> expected = once();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) wrong += once() != expected;
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace dyadic::inline v1
