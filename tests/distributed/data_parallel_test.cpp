// One model on several ranks: equal bits, whatever their number.
#include <gtest/gtest.h>

#include "distributed/flat.h"
#include "distributed/shards.h"
#include "dyadic/dyadic.h"
#include "tests/distributed/local_ranks.h"

namespace dyadic::inline v1::distributed {
namespace {

using data::Value;

TEST(ShardSum, TheSameTreeForAnyNumberOfRanks) {
  for (const int64_t shards : {1, 2, 3, 5, 8, 12}) {
    const auto leaf = [](int64_t k) {
      Generator g{uint64_t(k)};
      return randn({1001}, g);
    };
    const Tensor wanted = in_tree<Tensor>(0, shards, leaf, [](const Tensor& a, const Tensor& b) { return a + b; });
    for (int ranks = 1; ranks <= std::min<int64_t>(shards, 8); ++ranks) {
      const auto errors = on_ranks(ranks, [&](Group& g) {
        ShardSum sum(g, shards, 1001, f32, cpu);
        for (int64_t k = sum.first(); k < sum.last(); ++k) sum.add(leaf(k));
        sum.leave();
        sum.reduce();
        sum.give_back();
        EXPECT_TRUE(equal(sum.sum(), wanted)) << shards << " shards, " << ranks << " ranks";
      });
      for (const std::string& e : errors) EXPECT_EQ(e, "");
    }
  }
  for (const std::string& e : on_ranks(3, [](Group& g) { ShardSum(g, 2, 10, f32, cpu); }))
    EXPECT_NE(e.find("3 ranks share 2 shards"), e.npos) << e;
}

// Dropout, running statistics, a layer that is not always used.
struct Net : nn::Module {
  nn::Linear in{8, 32}, out{32, 4}, rare{32, 4};
  nn::BatchNorm1d norm{32};
  nn::Dropout drop{0.3};
  Net() { add("in", in), add("norm", norm), add("drop", drop), add("out", out), add("rare", rare); }
  Tensor forward(const Tensor& x) override {
    const Tensor h = drop(relu(norm(in(x))));
    return x.select(0, 0).select(0, 0).item() > 1.5 ? out(h) + rare(h) : out(h);
  }
};

std::string bits(const Tensor& t) {
  const Tensor dense = t.detach().contiguous();
  return {static_cast<const char*>(dense.data_ptr()), size_t(dense.nbytes())};
}

// All bits of a training of ten steps.
std::string train(Group& group, int64_t batch, int64_t shards, DType dtype, const char* state, Spread spread = Spread::none) {
  Generator random(5);
  const GeneratorScope own(random);
  auto model = std::make_shared<Net>();
  model->to(dtype);
  DataParallel parallel(*model, group, shards, spread);
  optim::Optimizer optimizer("AdamW", model->named_parameters(), {{"lr", 1e-2}, {"state", state}});
  Generator data(9);
  std::string seen;
  for (int step = 0; step < 10; ++step) {
    const Value x = Value::List{randn({batch, 8}, data).to(dtype), randint(0, 4, {batch}, data, i64)};
    optimizer.zero_grad();
    const double loss = parallel.backward(x, [&](const Value& shard) { return cross_entropy((*model)(shard[0]), shard[1]); });
    optimizer.step(optim::clip_factor(parallel.grad_norm(model->named_parameters()), 1));
    parallel.share();
    if (step == 5) parallel.collect(optimizer), parallel.keep_own(optimizer);  // as a checkpoint does
    if (parallel.spread() != Spread::none) { EXPECT_LT(optimizer.states().size(), model->parameters().size()); }
    seen += std::to_string(loss) + " ";
  }
  const Gathered all(parallel);
  for (auto& [name, t] : model->state_dict()) seen += bits(t);
  return seen + bits(randn({3}));
}

TEST(DataParallel, EqualBitsOnAnyNumberOfRanks) {
  struct Case {
    int64_t batch, shards;
    DType dtype;
    const char* state;
  };
  for (const Case& c : {Case{32, 8, f32, "f32"}, {26, 8, f32, "dynamic8"}, {32, 8, bf16, "bf16"}, {9, 4, f64, "f32"}}) {
    std::string alone;
    for (const int ranks : {1, 2, 3, 4}) {
      const auto errors = on_ranks(ranks, [&](Group& g) {
        const std::string mine = train(g, c.batch, c.shards, c.dtype, c.state);
        if (ranks == 1) alone = mine;
        EXPECT_TRUE(mine == alone) << ranks << " ranks, rank " << g.rank() << ", " << c.dtype.name();
        for (const Spread s : {Spread::states, Spread::gradients, Spread::parameters})
          EXPECT_TRUE(train(g, c.batch, c.shards, c.dtype, c.state, s) == alone)
              << ranks << " ranks, " << spread_name(s) << ", rank " << g.rank() << ", " << c.dtype.name();
      });
      for (const std::string& e : errors) EXPECT_EQ(e, "");
    }
  }
}

// Every parameter has one rank, all ranks about as much, also where there are few.
TEST(DataParallel, WholeParametersForEachRank) {
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{}, {5}, {1000, 1, 1, 1}, {1, 1, 1, 1000}, {10, 20, 30, 40, 50, 60}})
    for (const int ranks : {1, 2, 3, 4, 7}) {
      std::vector<Tensor> params;
      int64_t all = 0;
      for (const int64_t n : sizes) params.push_back(ones({n}).requires_grad_()), all += n;
      const Flat layout(params, {});
      const std::vector<Range> slices = layout.spread(ranks);
      int64_t at = 0;
      for (const Range& s : slices) {
        EXPECT_EQ(s.begin, at);
        EXPECT_GE(s.end, s.begin);
        at = s.end;
      }
      EXPECT_EQ(at, layout.size());
      at = 0;
      for (const int64_t n : sizes) {
        const auto holds = [&](const Range& s) { return s.begin <= at && at + n <= s.end; };
        EXPECT_EQ(std::count_if(slices.begin(), slices.end(), holds), 1) << at << " of " << all << ", " << ranks << " ranks";
        at += n;
      }
    }
}

// Shards of a batch without dropout and statistics make its gradient.
TEST(DataParallel, TheGradientOfTheWholeBatch) {
  manual_seed(3);
  nn::Linear model(8, 4);
  const Tensor x = randn({13, 8}), y = randint(0, 4, {13});
  Group alone(nullptr);
  DataParallel parallel(model, alone, 5);
  const double loss = parallel.backward(Value::List{x, y}, [&](const Value& b) { return cross_entropy(model(b[0]), b[1]); });
  const Tensor sharded = model.weight.grad().clone();
  model.zero_grad();
  const Tensor whole = cross_entropy(model(x), y);
  whole.backward();
  EXPECT_NEAR(loss, whole.item(), 1e-6);
  EXPECT_TRUE(allclose(sharded, model.weight.grad(), 1e-5, 1e-7));
}

TEST(DataParallel, WhatDoesNotFitIsRefused) {
  Group alone(nullptr);
  nn::Linear model(8, 4);
  DataParallel parallel(model, alone, 8);
  const auto loss = [&](const Value& b) { return sum(model(b)); };
  EXPECT_THROW(parallel.backward(Value(ones({7, 8})), loss), ValueError);
  EXPECT_THROW(parallel.backward(Value(Scalar(3.0)), loss), ValueError);
  EXPECT_THROW(DataParallel(model, alone, 0), ValueError);
  EXPECT_FALSE(parallel.asked());
  parallel.ask();
  parallel.backward(Value(ones({8, 8})), loss);
  EXPECT_TRUE(parallel.asked());
  parallel.backward(Value(ones({8, 8})), loss);
  EXPECT_FALSE(parallel.asked());
}

}  // namespace
}  // namespace dyadic::inline v1::distributed
