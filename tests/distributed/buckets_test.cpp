// Gradients that are on their way while backward computes the rest.
#include "distributed/buckets.h"

#include <gtest/gtest.h>

#include <functional>

#include "dyadic/dyadic.h"
#include "tests/distributed/local_ranks.h"

namespace dyadic::inline v1::distributed {
namespace {

void expect_no_error(const std::vector<std::string>& errors) {
  for (const std::string& e : errors) EXPECT_EQ(e, "");
}

// Layers, of which a rank may leave one out; the first one's weight is read again at the end.
struct Layers {
  std::vector<Tensor> params;
  explicit Layers(int64_t n) {
    Generator g(3);
    for (int64_t i = 0; i < n; ++i) {
      params.push_back(randn({12, 12}, g).requires_grad_());
      params.push_back(randn({12}, g).to(i % 2 ? f32 : bf16).requires_grad_());
    }
  }
  Tensor loss(const Tensor& x, int64_t left_out = -1) const {
    Tensor h = x;
    for (size_t i = 0; i < params.size(); i += 2)
      if (int64_t(i) != 2 * left_out) h = tanh(h.matmul(params[i]) + params[i + 1]);
    return h.matmul(params[0]).square().mean();
  }
};

// What buckets of some size make of two steps, on so many ranks.
std::vector<Tensor> sums(Group& g, int64_t shards, int64_t bytes, const std::function<int64_t(int64_t)>& left_out) {
  const Layers layers(4);
  const Tensor buffer = zeros({5});
  const auto buckets = std::make_shared<Buckets>(g, shards, false, bytes);
  std::vector<Tensor> seen;
  for (int step = 0; step < 2; ++step) {
    buckets->begin(layers.params, {buffer});
    buckets->watch(layers.params);
    for (int64_t k = buckets->first(); k < buckets->last(); ++k) {
      if (k + 1 == buckets->last()) buckets->last_shard();
      Generator random(uint64_t(k + 10 * step));
      const Tensor loss = layers.loss(randn({3, 12}, random), left_out(k));
      (loss * 0.5).backward();
      buffer.fill_(double(k));
      buckets->add(0.25, {loss.item(), 0});
    }
    double numbers[Flat::kNumbers];
    buckets->end(numbers);
    seen.push_back(tensor({numbers[0]}, f64));
    for (const Tensor& p : layers.params) {
      seen.push_back(p.grad().defined() ? p.grad().clone() : zeros({0}));
      p.set_grad({});
    }
    seen.push_back(buffer.clone());
  }
  return seen;
}

TEST(Buckets, EqualBitsForAnySizeAndNumberOfRanks) {
  for (const int64_t shards : {3, 4, 8})
    for (const auto& left_out :
         {std::function<int64_t(int64_t)>([](int64_t) { return -1; }), {[](int64_t k) { return k % 5; }}}) {
      std::vector<Tensor> alone;
      for (const int ranks : {1, 2, 3})
        for (const int64_t bytes : {1, 700, 1 << 20})
          expect_no_error(on_ranks(ranks, [&](Group& g) {
            const std::vector<Tensor> mine = sums(g, shards, bytes, left_out);
            if (alone.empty() && ranks == 1) alone = mine;
            for (size_t i = 0; i < mine.size(); ++i)
              EXPECT_TRUE(equal(mine[i], alone[i])) << ranks << " ranks, " << shards << " shards, " << bytes << " bytes, " << i;
          }));
    }
}

// What leaves does so before backward has come to the first layer, other calls of the group come between, and hooks of the same
// parameters see their gradients.
TEST(Buckets, LeaveWhileBackwardGoesOn) {
  expect_no_error(on_ranks(2, [&](Group& g) {
    const Layers layers(6);
    int64_t at_first = 0;
    int seen = 0;
    const GradientMean mean(layers.params, g, 500);
    for (const Tensor& p : layers.params)
      register_post_accumulate_grad_hook(p, [&](const Tensor& leaf) {
        if (leaf.impl() == layers.params[0].impl()) at_first = g.bytes_sent();
        seen += leaf.grad().defined();
        if (seen == 5) g.barrier();
      });
    Generator random(uint64_t(g.rank()));
    layers.loss(randn({3, 12}, random)).backward();
    EXPECT_EQ(seen, 12);
    EXPECT_GT(at_first, g.bytes_sent() / 2);  // of six layers' the sums of four or five
    std::vector<Tensor> wanted;
    for (int rank = 0; rank < 2; ++rank) {
      const Layers one(6);
      Generator other{uint64_t(rank)};
      one.loss(randn({3, 12}, other)).backward();
      for (size_t i = 0; i < one.params.size(); ++i)
        rank ? void(wanted[i].copy_((wanted[i].to(f32) + one.params[i].grad().to(f32)) / 2.0))
             : wanted.push_back(one.params[i].grad());
    }
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(equal(layers.params[i].grad(), wanted[i])) << i;
  }));
}

// A parameter of which one rank makes no use does not keep the others from anything.
TEST(Buckets, RanksMayLeaveParametersOut) {
  expect_no_error(on_ranks(3, [&](Group& g) {
    const Layers layers(5);
    const GradientMean mean(layers.params, g, 500);
    for (int step = 0; step < 3; ++step) {
      layers.loss(ones({2, 12}), (g.rank() + step) % 5).backward();
      for (const Tensor& p : layers.params) {
        EXPECT_TRUE(p.grad().defined());
        p.set_grad({});
      }
    }
  }));
}

// A backward inside of another one.
thread_local Tensor t_inner;
struct Inner : Function<Inner> {
  static constexpr const char* name = "Inner";
  static Tensor forward(FunctionContext&, const Tensor& x) { return x.clone(); }
  static Tensor backward(FunctionContext&, std::span<const Tensor> g) {
    const GradMode on(true);
    (t_inner * 2.0).sum().backward();
    return g[0];
  }
};

TEST(Buckets, WhatComesTooLateIsSaid) {
  for (const int layer : {0, 3}) {  // the first one's bucket leaves last of all
    const auto late = on_ranks(2, [&](Group& g) {
      const Layers layers(4);
      t_inner = layers.params[size_t(2 * layer)];
      const GradientMean mean(layers.params, g, 100);
      layers.loss(Inner::apply(ones({2, 12}).requires_grad_())).backward();
      t_inner = Tensor();
    });
    for (const std::string& e : late) EXPECT_EQ(e.find("a backward inside of this one added to it") != e.npos, layer != 0) << e;
  }
}

}  // namespace
}  // namespace dyadic::inline v1::distributed
