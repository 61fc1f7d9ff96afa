// What compositions demand of values, in steps that run without their program: the same errors, and the step goes on
// afterwards.
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "dyadic/autograd.h"
#include "dyadic/optim.h"
#include "tests/graph/compiled.h"

namespace dyadic::inline v1 {
namespace {

struct Demanding {
  const char* name;
  std::function<Tensor(const Tensor&)> f;
  std::function<Tensor()> good;
  Tensor bad;
  bool wrong = true;  // it is an error, and not only seldom
};

Tensor changed(Tensor t, Scalar value) {
  t = t.contiguous().clone();
  t.reshape({-1})[t.numel() / 2].fill_(value);
  return t;
}

template <class F> std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "";
}

std::vector<Demanding> demanding() {
  const Tensor p = full({3, 40}, 0.25), x = rand({3, 40}), whole = randint(1, 9, {3, 40}), table = randn({9, 2});
  auto chance = [] { return rand({3, 40}); };
  auto classes = [] { return randint(0, 9, {12}); };
  return {
      {"input", [=](const Tensor& t) { return binary_cross_entropy(t, x); }, chance, changed(x, 1.5)},
      {"input, NaN", [=](const Tensor& t) { return binary_cross_entropy(t, x); }, chance, changed(x, NAN)},
      {"target", [=](const Tensor& t) { return binary_cross_entropy(p, t); }, chance, changed(x, -0.5)},
      {"multinomial", [](const Tensor& t) { return multinomial(t, 4); }, chance, changed(x, -1)},
      {"multinomial of a row", [](const Tensor& t) { return multinomial(t, 4, true); }, chance, zeros({3, 40})},
      {"bernoulli", [](const Tensor& t) { return bernoulli(t); }, chance, changed(x, 2)},
      {"normal", [=](const Tensor& t) { return normal(p, t); }, chance, changed(x, -2)},
      {"one_hot", [](const Tensor& t) { return one_hot(t, 9); }, classes, full({12}, 9, i64)},
      {"one_hot, below", [](const Tensor& t) { return one_hot(t, 9); }, classes, full({12}, -1, i64)},
      {"floor_divide", [=](const Tensor& t) { return floor_divide(whole, t); }, [] { return randint(1, 9, {3, 40}); },
       changed(whole, 0)},
      {"remainder of strided", [=](const Tensor& t) { return remainder(whole, t.t()); }, [] { return randint(1, 9, {40, 3}); },
       changed(whole.t(), 0)},
      {"istft", [](const Tensor& w) { return istft(ones({5, 6}, c64), 8, 4, 8, w); }, [] { return rand({8}) + 0.5; },
       zeros({8})},
      {"take_along_dim", [=](const Tensor& t) { return take_along_dim(whole, t, 1); }, [] { return randint(0, 40, {3, 2}); },
       full({3, 2}, -2, i64), false},
      {"embedding", [=](const Tensor& t) { return embedding(table, t); }, classes, full({12}, 9, i64)},
      {"cross_entropy", [=](const Tensor& t) { return cross_entropy(table.t(), t); }, [] { return randint(0, 9, {2}); },
       full({2}, 9, i64)},
      {"nll_loss", [=](const Tensor& t) { return nll_loss(table.t(), t); }, [] { return randint(0, 9, {2}); },
       full({2}, 9, i64)},
      {"gather", [=](const Tensor& t) { return gather(whole, 1, t); }, [] { return randint(0, 40, {3, 2}); },
       full({3, 2}, 40, i64)},
  };
}

TEST(replay_demand, what_a_program_demands_of_values_a_step_demands_in_each_run) {
  for (const bool defers : {false, true})
    for (const Demanding& d : demanding()) {
      SCOPED_TRACE(d.name);
      std::optional<PutOffAll> all;
      if (defers) all.emplace();
      // What is read is computed by the step, and may be put off.
      auto f = [&](const Tensor& t) { return d.f(t.dtype() == f32 ? t * 2 / 2 : t + 0) * 1; };
      auto fast = compile(f, {.mode = "reduce-overhead"});
      std::vector<Tensor> inputs;  // all of them, so that none lies where another lay
      auto same = [&](const Tensor& t) {
        inputs.push_back(t);
        const GeneratorState state = generator_state();
        const std::string eager = bits(f(t));
        set_generator_state(state);
        EXPECT_TRUE(bits(fast(t)) == eager) << fast.explain();
      };
      for (int k = 0; k < 5; ++k) same(d.good());
      EXPECT_EQ(replays(fast.explain()), 3) << fast.explain();
      const std::string wanted = error_of([&] { f(d.bad); });
      EXPECT_EQ(wanted.empty(), !d.wrong);
      const std::string error = error_of([&] { fast(d.bad); });
      EXPECT_EQ(error.empty(), wanted.empty());
      EXPECT_TRUE(wanted.ends_with(error)) << wanted << "\n" << error;  // parts may bear their composition's name first
      if (!d.wrong) same(d.bad);
      for (int k = 0; k < 2; ++k) same(d.good());
      EXPECT_GE(replays(fast.explain()), 5) << fast.explain();
    }
}

TEST(replay_demand, a_step_that_ends_in_an_error_changes_no_weight) {
  Tensor w = rand({20, 4});
  w.set_requires_grad(true);
  optim::Optimizer optimizer("Adam", std::vector<std::pair<std::string, Tensor>>{{"w", w}}, {});
  auto step = compile(
      [&](const Tensor& x, const Tensor& y) {
        optimizer.zero_grad();
        const Tensor loss = binary_cross_entropy(sigmoid(matmul(x, w)), y);
        loss.backward();
        optimizer.step();
        return loss;
      },
      {.mode = "reduce-overhead", .fullgraph = true});
  const Tensor x = randn({8, 20}), y = rand({8, 4});
  for (int k = 0; k < 5; ++k) step(x, y);
  EXPECT_EQ(replays(step.explain()), 2) << step.explain();  // of those that find gradients
  const std::string before = bits(w);
  const std::string error = error_of([&] { step(x, y + 1); });
  EXPECT_TRUE(error.starts_with("binary_cross_entropy: target is no probability")) << error;
  EXPECT_TRUE(bits(w) == before);
  for (int k = 0; k < 2; ++k) step(x, y);  // the first finds none
  EXPECT_EQ(replays(step.explain()), 3) << step.explain();
  EXPECT_FALSE(bits(w) == before);
}

}  // namespace
}  // namespace dyadic::inline v1
