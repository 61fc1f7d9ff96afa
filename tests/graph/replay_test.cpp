// Whole steps that run again without their program: the bits of eager ones, and what makes the program run.
#include <gtest/gtest.h>

#include "dyadic/autograd.h"
#include "dyadic/lr_scheduler.h"
#include "dyadic/optim.h"
#include "dyadic/parallel.h"
#include "tests/graph/compiled.h"

namespace dyadic::inline v1 {
namespace {

const CompileOptions kWhole = {.mode = "reduce-overhead"};

struct Mlp : nn::Module {
  nn::Linear first{12, 24}, second{24, 5};
  nn::LayerNorm norm{{24}};
  nn::BatchNorm1d batch{24};
  double p = 0.25;
  Mlp() {
    add("first", first);
    add("second", second);
    add("norm", norm);
    add("batch", batch);
  }
  Tensor forward(const Tensor& x) override {
    const Tensor h = norm(batch(first(x)));
    return second(dropout(gelu(h) + h * sigmoid(h), p, training()));
  }
};

struct Kind {
  const char* optimizer;
  bool schedule = false;
  int64_t rows = 16;
  bool new_inputs = true;
};

std::string train(const Kind& kind, bool compiled, int threads, int64_t* again = nullptr) {
  const int before = num_threads();
  set_num_threads(threads);
  manual_seed(3);
  Mlp model;
  optim::Optimizer optimizer(kind.optimizer, model.named_parameters(), {{"lr", 1e-2}});
  optim::LRScheduler schedule("ExponentialLR", optimizer, {{"gamma", 0.9}});
  auto step = [&](const Tensor& x, const Tensor& targets) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(model(x), targets);
    loss.backward();
    optimizer.step();
    return loss;
  };
  auto fast = compile(step, kWhole);
  std::string seen;
  std::vector<Tensor> losses;
  Tensor x = randn({kind.rows, 12}), targets = randint(0, 5, {kind.rows});
  for (int k = 0; k < 20; ++k) {
    if (kind.new_inputs) x = randn({kind.rows, 12}), targets = randint(0, 5, {kind.rows});
    losses.push_back(compiled ? fast(x, targets) : step(x, targets));
    if (kind.schedule) schedule.step();
    for (auto& [name, p] : model.named_parameters()) seen += bits(p.grad()) + std::to_string(p.version());
    for (auto& [name, b] : model.named_buffers()) seen += bits(b) + std::to_string(b.version());
    seen += losses.back().requires_grad() ? losses.back().grad_fn().name() : "none";
  }
  seen += bits(losses);  // what was returned is not written again
  for (auto& [name, p] : model.named_parameters()) seen += bits(p);
  for (auto& [name, s] : optimizer.state_dict()) seen += bits(s);
  set_num_threads(before);
  if (again) *again = replays(fast.explain());
  if (again && *again < 10) ADD_FAILURE() << fast.explain();
  return seen + bits(randn({4}));
}

TEST(replay, twenty_steps_of_training) {
  for (const Kind& kind : {Kind{"SGD"}, Kind{"AdamW", true}, Kind{"AdamW", true, 160}, Kind{"SGD", true, 160, false}})
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(std::string(kind.optimizer) + " " + std::to_string(kind.rows) + " " + std::to_string(threads));
      int64_t again = 0;
      EXPECT_TRUE(train(kind, true, threads, &again) == train(kind, false, threads));
      EXPECT_GE(again, 15);
    }
}

// f(k), k = 0 ... 5, eager and as whole steps: the same bits, as many replays as said.
template <class F> std::string expect_same_steps(F f, int64_t again, std::vector<int> calls = {0, 0, 0, 0, 0, 0}) {
  auto run = [&](auto&& g) {
    manual_seed(7);
    std::string seen;
    for (const int k : calls) seen += bits(g(k)) + "|";
    return seen + bits(randn({3}));
  };
  const std::string eager = run(f);
  auto fast = compile(f, kWhole);
  EXPECT_TRUE(run(fast) == eager) << fast.explain();
  EXPECT_EQ(replays(fast.explain()), again) << fast.explain();
  return fast.explain();
}

TEST(replay, a_function_without_gradients) {
  const NoGrad guard;
  const Tensor w = randn({40, 50}), b = randn({50});
  expect_same_steps(
      [&](int) {
        const Tensor x = randn({30, 40});
        return std::vector<Tensor>{softmax(matmul(x, w) + b, 1), (x * 2).t(), dropout(x, 0.5, true)[3]};
      },
      4);
  Tensor count = zeros({4});
  auto counts = compile([&] { return count.add_(1), count * 2; }, kWhole);
  std::vector<Tensor> all;
  for (int k = 0; k < 6; ++k) all.push_back(counts());
  for (int k = 0; k < 6; ++k) EXPECT_EQ(all[size_t(k)].to_vector()[3], 2 * (k + 1));
  EXPECT_EQ(count.version(), 6);
}

TEST(replay, what_is_read_runs_the_program) {
  const Tensor x = randn({8});
  const std::string text = expect_same_steps(
      [&](int) {
        const Tensor t = x * 2;
        return t.sum().item() > 0 ? t : -t;
      },
      0);
  EXPECT_NE(text.find("a value is read on the way: f32[] of sum"), std::string::npos) << text;
  auto strict = compile([&] { return (x * 2).sum().item(); }, {.fullgraph = true});
  EXPECT_THROW(strict(), Error);
  auto whole = compile([&] { return nonzero(x); }, {.mode = "reduce-overhead", .fullgraph = true});
  EXPECT_THROW(whole(), Error);
  auto fine = compile([&] { return x * 2 + 1; }, {.fullgraph = true});
  EXPECT_TRUE(bits(fine()) == bits(x * 2 + 1));
}

TEST(replay, arguments_choose_the_step) {
  const Tensor x = randn({2000});
  expect_same_steps([&](int k) { return k ? x * 2 + 1 : exp(x); }, 4, {0, 1, 0, 1, 0, 1, 0, 1});
  auto shapes = compile([](const Tensor& t) { return t * 2 + 1; }, kWhole);
  for (int k = 0; k < 12; ++k) {
    const Tensor t = randn({k % 2 ? 5 : 7, 3}).to(k % 4 < 2 ? f32 : bf16);
    EXPECT_TRUE(bits(shapes(t)) == bits(t * 2 + 1));
  }
  EXPECT_EQ(replays(shapes.explain()), 4) << shapes.explain();
}

TEST(replay, arguments_that_share_memory) {
  const Tensor all = randn({100}), other = randn({100});
  auto f = compile([&](const Tensor& a, const Tensor& b) { return a * 2 + b * all.narrow(0, 0, 10); }, kWhole);
  for (const int64_t shift : {1, 1, 1, 1, 5, 5, 20, 20})
    for (const Tensor& from : {all, other}) {
      const Tensor a = from.narrow(0, 0, 10), b = from.narrow(0, shift, 10);
      EXPECT_TRUE(bits(f(a, b)) == bits(a * 2 + b * all.narrow(0, 0, 10))) << shift;
    }
  // One tensor twice, then two; one that the function has as well, then another.
  Tensor w = randn({50});
  auto g = compile([&](const Tensor& a, const Tensor& b) { return a + b * w; }, kWhole);
  const Tensor u = randn({50}), v = randn({50});
  for (auto& [a, b] :
       std::vector<std::pair<Tensor, Tensor>>{{w, w}, {w, w}, {w, w}, {u, u}, {u, v}, {v, u}, {u, w}, {w, u}, {u, v}})
    EXPECT_TRUE(bits(g(a, b)) == bits(a + b * w));
}

TEST(replay, gradients_that_add_up) {
  auto train = [](bool compiled) {
    manual_seed(2);
    Mlp model;
    optim::Optimizer optimizer("SGD", model.named_parameters(), {{"lr", 0.1}, {"momentum", 0.9}});
    auto part = [&](const Tensor& x, bool last) {
      const Tensor loss = (model(x) * 0.25).square().mean();
      loss.backward();
      if (last) {
        optimizer.step();
        optimizer.zero_grad();
      }
      return loss;
    };
    auto fast = compile(part, kWhole);
    std::string seen;
    for (int k = 0; k < 24; ++k) {
      const Tensor x = randn({9, 12});
      seen += bits(compiled ? fast(x, k % 4 == 3) : part(x, k % 4 == 3));
      for (auto& [name, p] : model.named_parameters()) seen += p.grad().defined() ? bits(p.grad()) : "-";
    }
    for (auto& [name, p] : model.named_parameters()) seen += bits(p);
    if (compiled) { EXPECT_GE(replays(fast.explain()), 12) << fast.explain(); }
    return seen;
  };
  EXPECT_TRUE(train(true) == train(false));
}

TEST(replay, what_changes_between_steps) {
  auto train = [](bool compiled) {
    manual_seed(2);
    auto model = std::make_unique<Mlp>();
    optim::Optimizer optimizer("AdamW", model->named_parameters(), {{"lr", 0.1}});
    Tensor scale = ones({5});
    auto step = [&](const Tensor& x) {
      optimizer.zero_grad();
      const Tensor loss = (model->operator()(x) * scale).square().mean();
      loss.backward();
      optimizer.step();
      return loss;
    };
    auto fast = compile(step, kWhole);
    std::string seen;
    for (int k = 0; k < 60; ++k) {
      if (k == 5) model->eval();
      if (k == 10) model->train();
      if (k == 15) optimizer.set_lr(0.01);
      if (k == 20) model->first.weight.requires_grad_(false);
      if (k == 25) model->first.weight.requires_grad_(true);
      if (k == 30) model->second.set_parameter("bias", ones({5}).requires_grad_());
      if (k == 35) optimizer.groups()[0].options.set("weight_decay", 0.5);
      if (k == 40) model->first.bias.set_grad({});
      if (k == 45) set_default_dtype(f64);
      if (k == 48) set_default_dtype(f32);
      if (k == 50) model->batch.add_hook(std::make_shared<nn::Hook>());
      if (k == 55) scale.mul_(2);
      const Tensor x = randn({9, 12}, f32);
      seen += bits(compiled ? fast(x) : step(x));
      for (auto& [name, p] : model->named_parameters()) seen += bits(p);
    }
    if (compiled) { EXPECT_GE(replays(fast.explain()), 25) << fast.explain(); }
    return seen;
  };
  EXPECT_TRUE(train(true) == train(false));
}

TEST(replay, modes_and_what_is_held) {
  const Tensor x = randn({300});
  auto f = compile([&] { return x * 2 + 1; }, kWhole);
  for (int k = 0; k < 3; ++k) f();
  EXPECT_EQ(replays(f.explain()), 1);
  {
    const Autocast cast(bf16);
    f();
    EXPECT_EQ(replays(f.explain()), 1);
  }
  {
    const NoGrad guard;
    f();
    EXPECT_EQ(replays(f.explain()), 1);
  }
  std::vector<Tensor> kept;
  auto keeps = compile([&] { return kept.emplace_back(x * 2), x * 3; }, kWhole);
  for (int k = 0; k < 4; ++k) keeps();
  EXPECT_EQ(replays(keeps.explain()), 0);
  EXPECT_NE(keeps.explain().find("something that mul made is held after the step"), std::string::npos) << keeps.explain();
  // A graph that is still to be differentiated.
  const Tensor w = randn({300}).requires_grad_();
  auto graph = compile([&] { return (w * x).sum(); }, kWhole);
  for (int k = 0; k < 3; ++k) graph().backward();
  EXPECT_EQ(replays(graph.explain()), 0);
  auto used = compile(
      [&] {
        const Tensor loss = (w * x).sum();
        loss.backward();
        return loss;
      },
      kWhole);
  for (int k = 0; k < 5; ++k) EXPECT_THROW(used().backward(), Error);
  EXPECT_GT(replays(used.explain()), 1) << used.explain();
}

TEST(replay, nothing_is_allocated_but_results) {
  const NoGrad guard;
  const Tensor x = randn({300, 300});
  auto f = compile([&] { return tanh(matmul(relu(matmul(x, x)), x)) * 2; }, kWhole);
  for (int k = 0; k < 3; ++k) f();
  reset_peak_memory_stats();
  const int64_t before = memory_allocated();
  for (int k = 0; k < 5; ++k) f();
  EXPECT_EQ(memory_allocated(), before);
  const int64_t most = max_memory_allocated() - before;
  const Tensor one = empty({300, 300});
  EXPECT_EQ(most, memory_allocated() - before);
}

TEST(replay, steps_that_are_checked) {
  CompileOptions checked = kWhole;
  checked.check = true;
  manual_seed(2);
  Mlp model;
  optim::Optimizer optimizer("AdamW", model.named_parameters(), {{"lr", 0.1}});
  double factor = 2;
  auto step = compile(
      [&](const Tensor& x) {
        optimizer.zero_grad();
        const Tensor loss = (model(x) * factor).square().mean();
        loss.backward();
        optimizer.step();
        return loss;
      },
      checked);
  for (int k = 0; k < 6; ++k) step(randn({9, 12}));
  EXPECT_NE(step.explain().find("3 runs of it were checked"), std::string::npos) << step.explain();
  factor = 3;  // which no recording can see
  try {
    step(randn({9, 12}));
    ADD_FAILURE();
  } catch (const Error& e) { EXPECT_NE(std::string(e.what()).find("mul: a number differs"), std::string::npos) << e.what(); }
}

TEST(replay, results_that_are_views) {
  const Tensor state = randn({6, 4});
  auto f = compile(
      [&](const Tensor& x) {
        return std::vector<Tensor>{(x * 2).view({8, 3}), x.t(), x.narrow(0, 1, 2), state, state.narrow(1, 1, 2), x};
      },
      kWhole);
  for (int k = 0; k < 6; ++k) {
    const Tensor x = randn({9, 4}).narrow(0, k % 3, 6);
    const std::vector<Tensor> all = f(x);
    EXPECT_TRUE(bits(all) == bits({(x * 2).view({8, 3}), x.t(), x.narrow(0, 1, 2), state, state.narrow(1, 1, 2), x}));
    EXPECT_TRUE(all[3].is_same(state) && all[5].is_same(x) && !all[4].is_same(state));
    all[1].mul_(2);
    EXPECT_TRUE(bits(all[1]) == bits(x.t()));
  }
  EXPECT_EQ(replays(f.explain()), 4) << f.explain();
}

TEST(replay, memory_that_others_have_left_is_let_go) {
  const NoGrad guard;
  Tensor w = randn({1000});
  auto f = compile([&](const Tensor& x) { return x * w; }, kWhole);
  const int64_t before = memory_allocated();
  const Tensor x = full({1000}, 2);  // at one place, so that w alone says it
  for (int k = 0; k < 30; ++k) {
    if (k % 3 == 0) w = randn({1000});
    EXPECT_TRUE(bits(f(x)) == bits(x * w));
  }
  EXPECT_EQ(replays(f.explain()), 10);
  EXPECT_LE(memory_allocated() - before, 3 * 4096 + 20'000);
}

TEST(replay, an_error_on_the_way) {
  const NoGrad guard;
  const Tensor table = randn({10, 4});
  auto f = compile([&](const Tensor& i) { return embedding(table, i) * 2; }, kWhole);
  for (int k = 0; k < 6; ++k) {
    const Tensor i = randint(0, 10, {5});
    EXPECT_TRUE(bits(f(i)) == bits(embedding(table, i) * 2));
  }
  EXPECT_EQ(replays(f.explain()), 4);
  EXPECT_THROW(f(full({5}, 99, i64)), Error);
  const Tensor i = randint(0, 10, {5});
  EXPECT_TRUE(bits(f(i)) == bits(embedding(table, i) * 2));
}

}  // namespace
}  // namespace dyadic::inline v1
