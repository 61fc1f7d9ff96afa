// Models whose gradients and parameters are spread over ranks: what each has, when, and that the bits stay.
#include <gtest/gtest.h>

#include <cmath>

#include "distributed/units.h"
#include "distributed/wire.h"
#include "dyadic/dyadic.h"
#include "dyadic/fully_shard.h"
#include "tests/distributed/local_ranks.h"

namespace dyadic::inline v1::distributed {
namespace {

using data::Value;

constexpr int64_t kWidth = 64, kLayers = 6;

// Two products and a way around them; the first is frozen, in four bits.
struct Block : nn::Module {
  nn::LayerNorm norm{{kWidth}};
  nn::Linear frozen{kWidth, kWidth}, own{kWidth, kWidth};
  nn::Dropout drop{0.2};
  Block() {
    add("norm", norm), add("frozen", frozen), add("own", own), add("drop", drop);
    frozen.requires_grad_(false);
    frozen.weight = frozen.weight.detach().to(nf4);
  }
  Tensor forward(const Tensor& x) override { return x + drop(own(relu(frozen(norm(x))))); }
};
struct SpreadNet : nn::Module {
  nn::Embedding tok{50, kWidth};
  nn::ModuleList<Block> blocks;
  SpreadNet() {
    add("tok", tok), add("blocks", blocks);
    for (int64_t i = 0; i < kLayers; ++i) blocks.append(std::make_shared<Block>());
  }
  Tensor forward(const Tensor& x) override {
    Tensor h = tok(x);
    for (Block* b : blocks) h = (*b)(h);
    return linear(h, tok.weight);  // tied
  }
};

std::string bits(nn::Module& model) {
  std::string all;
  for (auto& [name, t] : model.state_dict()) {
    const Tensor dense = t.to(f32).contiguous();
    all.append(static_cast<const char*>(dense.data_ptr()), size_t(dense.nbytes()));
  }
  return all;
}

nn::NamedTensors trained(const nn::Module& model) {
  nn::NamedTensors all;
  for (auto& [name, p] : model.named_parameters())
    if (p.requires_grad()) all.emplace_back(name, p);
  return all;
}

std::string train(Group& group, Spread spread, bool again = false, DType wire = {}, int64_t* sent = nullptr) {
  Generator random(5);
  const GeneratorScope own(random);
  SpreadNet model;
  DataParallel parallel(model, group, 8, spread, wire);
  const int64_t before = group.bytes_sent();
  optim::AdamW optimizer(trained(model), {.lr = 1e-2, .state = dynamic8});
  Generator data(9);
  for (int step = 0; step < 4; ++step) {
    const Value x = Value::List{randint(0, 50, {16, 6}, data, i64), randint(0, 50, {16 * 6}, data, i64)};
    optimizer.zero_grad();
    parallel.backward(x, [&](const Value& shard) {
      Tensor h = model.tok(shard[0]);
      for (Block* b : model.blocks) h = again ? checkpoint([b](const Tensor& y) { return (*b)(y); }, h) : (*b)(h);
      return cross_entropy(linear(h, model.tok.weight).view({-1, 50}), shard[1].tensor().narrow(0, 0, 12));
    });
    optimizer.step(optim::clip_factor(parallel.grad_norm(trained(model)), 1));
    parallel.share();
    if (wire && step == 1) {  // as a checkpoint does
      const nn::NamedTensors state = parallel.wire_state();
      EXPECT_FALSE(state.empty());
      nn::NamedTensors copies;
      for (auto& [name, t] : state) copies.emplace_back(name, t.clone()), t.zero_();
      parallel.load_wire_state(copies);
    }
  }
  if (sent) *sent = group.bytes_sent() - before;
  const Gathered all(parallel);
  return bits(model);
}

void expect_no_errors(const std::vector<std::string>& errors) {
  for (const std::string& e : errors) EXPECT_EQ(e, "");
}

TEST(Spread, QuantizedAndFrozenWeightsKeepTheirBits) {
  std::string alone;
  for (const int ranks : {1, 2, 3, 4})
    expect_no_errors(on_ranks(ranks, [&](Group& g) {
      if (ranks == 1) alone = train(g, Spread::none);
      for (const Spread s : {Spread::gradients, Spread::parameters})
        EXPECT_TRUE(train(g, s) == alone) << ranks << " ranks, " << spread_name(s);
    }));
  expect_no_errors(on_ranks(2, [&](Group& g) { EXPECT_TRUE(train(g, Spread::parameters, true) == alone) << "checkpointed"; }));
}

// Outside of its module's run a parameter is with its rank alone, and it says so.
TEST(Spread, ParametersAreElsewhere) {
  expect_no_errors(on_ranks(2, [](Group& g) {
    Generator random(5);
    const GeneratorScope draws(random);
    SpreadNet model;
    const std::string before = bits(model);
    DataParallel parallel(model, g, 2, Spread::parameters);
    int absent = 0, here = 0;
    for (auto& [name, p] : model.named_parameters()) try {
        p.data_ptr();
        ++here;
      } catch (const Error& e) {
        ++absent;
        EXPECT_STREQ(e.what(),
                     "distributed: a parameter's values are with another rank; they are here while its module runs, and while "
                     "the model is gathered");
      }
    EXPECT_GT(absent, 0);
    EXPECT_GT(here, 0);
    {
      const Gathered own(parallel, false);
      NoGrad guard;
      model(zeros({1, 4}, i64));  // modules gather their own
    }
    const Gathered all(parallel);
    EXPECT_TRUE(bits(model) == before);
  }));
}

// Fewer bits on the way: other bits than without, the same on any number of ranks, and fewer bytes.
TEST(Spread, GradientsTravelInFewerBits) {
  for (const DType wire : {bf16, float8_e5m2, dynamic8}) {
    std::string alone;
    for (const int ranks : {1, 2, 3, 4})
      expect_no_errors(on_ranks(ranks, [&](Group& g) {
        int64_t sent = 0, plain = 0;
        if (ranks == 1) alone = train(g, Spread::none, false, wire);
        if (ranks == 1) { EXPECT_FALSE(train(g, Spread::none) == alone); }
        for (const Spread s : {Spread::gradients, Spread::parameters})
          EXPECT_TRUE(train(g, s, false, wire, &sent) == alone) << ranks << " ranks, " << spread_name(s) << ", " << wire.name();
        if (ranks != 2) return;
        train(g, Spread::parameters, false, {}, &plain);
        EXPECT_LT(sent, plain);
      }));
  }
  Group alone(nullptr);
  SpreadNet model;
  EXPECT_THROW(DataParallel(model, alone, 8, Spread::none, i64), TypeError);
  for (const std::string& e : on_ranks(2, [](Group& g) {
         SpreadNet of_two;
         DataParallel(of_two, g, 8, Spread::states, bf16);
       }))
    EXPECT_NE(e.find("spread gradients or parameters"), e.npos) << e;
}

// What is lost comes later: after n steps of one gradient, n times it has come but for what is still to come.
TEST(Spread, WhatRoundingLosesComesLater) {
  Generator random(3);
  const Tensor g = randn({300}, random) * 1e-3, lost = zeros({300}), sum = zeros({300});
  const Wire wire(dynamic8, {{300}}, {{0, 300}}, f32);
  for (int step = 0; step < 20; ++step) {
    const Tensor came = empty({300});
    wire.decode(0, wire.encode(g, lost, 4), came);
    sum.add_(came);
  }
  EXPECT_TRUE(allclose(sum + lost * 4, g * 20, 1e-5, 1e-7));
  EXPECT_GT(abs(lost).max().item(), 0);
  const Tensor bad = full({300}, INFINITY);
  wire.encode(bad, lost, 1);
  EXPECT_TRUE(isfinite(lost).all().item<bool>());
}

// PyTorch's way: each rank has its batch, gradients become their mean, with those of an earlier backward.
TEST(Spread, FullyShard) {
  const auto batch = [](int rank) {
    Generator draws{uint64_t(rank)};
    return randint(0, 50, {4, 6}, draws, i64);
  };
  const auto run = [&](Group* group, int ranks, std::vector<Tensor>& gradients) {
    Generator random(5);
    const GeneratorScope own(random);
    SpreadNet model;
    model.eval();  // no dropout
    if (group) {
      for (Block* b : model.blocks) fully_shard(*b, b != &model.blocks[0], *group);
      fully_shard(model, true, *group);
      EXPECT_THROW(fully_shard(model, true, *group), ValueError);
    }
    for (int turn = 0; turn < 2; ++turn) {
      if (group) {
        const Tensor x = batch(group->rank() + 10 * turn);
        cross_entropy(model(x).view({-1, 50}), x.view({-1})).backward();
        continue;
      }
      for (int r = 0; r < ranks; ++r) {
        const Tensor x = batch(r + 10 * turn);
        (cross_entropy(model(x).view({-1, 50}), x.view({-1})) / double(ranks)).backward();
      }
    }
    for (const auto& [name, p] : trained(model)) gradients.push_back(p.grad());
    return group ? spread_norm(trained(model), *group) : optim::grad_norm(trained(model));
  };
  for (const int ranks : {2, 3}) {
    std::vector<Tensor> whole;
    const double norm = run(nullptr, ranks, whole);
    std::vector<std::vector<Tensor>> spread(static_cast<size_t>(ranks));
    expect_no_errors(on_ranks(ranks, [&](Group& g) { EXPECT_NEAR(run(&g, ranks, spread[size_t(g.rank())]), norm, 1e-6); }));
    for (size_t i = 0; i < whole.size(); ++i) {
      int there = 0;
      for (auto& gradients : spread)
        if (gradients[i].defined()) {
          ++there;
          EXPECT_TRUE(allclose(gradients[i], whole[i], 1e-5, 1e-7)) << i;
        }
      EXPECT_EQ(there, 1) << i;
    }
  }
}

// What came next the last time is on its way while a module runs; another order costs a wait, not the values.
TEST(Spread, ParametersAreGatheredAhead) {
  for (const int ranks : {2, 3})
    for (const std::string& e : on_ranks(ranks, [&](Group& g) {
           Generator random(3);
           const GeneratorScope own(random);
           auto model = std::make_shared<SpreadNet>();
           std::vector<Tensor> before;
           for (Block* b : model->blocks) before.push_back(b->own.weight.detach().clone());
           const auto sharing = std::make_shared<Sharing>(Sharing{g, true, f32});
           const auto units = make_units(*model, sharing);
           const auto pass = [&](const std::vector<size_t>& order, bool known) {
             sharing->ahead = true;
             for (size_t k = 0; k < order.size(); ++k) {
               const size_t i = order[k];
               units[i]->gather();
               const auto next = sharing->next.lock();
               EXPECT_EQ(next, known && k + 1 < order.size() ? units[order[k + 1]] : nullptr) << k;
               EXPECT_TRUE(equal(static_cast<Block&>(units[i]->module()).own.weight, before[i])) << i;
               units[i]->let_go();
             }
             sharing->end_ahead();
           };
           pass({0, 1, 2, 3, 4, 5}, false);
           const int64_t begin = g.bytes_sent();
           pass({0, 1, 2, 3, 4, 5}, true);
           const int64_t of_a_pass = g.bytes_sent() - begin;
           pass({0, 1, 2, 3, 4, 5}, true);
           EXPECT_EQ(g.bytes_sent() - begin, 2 * of_a_pass);  // nothing is gathered in vain
           sharing->ahead = true;
           units[0]->gather(), units[0]->let_go();  // 1 is on its way
           units[4]->gather(), units[4]->let_go();
           units[1]->gather();
           EXPECT_TRUE(equal(model->blocks[1].own.weight, before[1]));
           sharing->end_ahead();
         }))
      EXPECT_EQ(e, "");
}

TEST(Spread, Names) {
  EXPECT_EQ(parse_spread("gradients"), Spread::gradients);
  EXPECT_STREQ(spread_name(Spread::parameters), "parameters");
  EXPECT_THROW(parse_spread("all"), ValueError);
}

}  // namespace
}  // namespace dyadic::inline v1::distributed
