// Calls made again in backward, results read from a file: the same gradients, whatever a forward does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "dyadic/dyadic.h"
#include "plan/cut.h"
#include "plan/flow.h"
#include "plan/forward.h"

namespace dyadic::inline v1::planning {
namespace {

using Forwarded = std::function<Tensor(const std::vector<Tensor>&)>;

std::vector<Tensor> gradients(const Forwarded& f, const std::vector<Tensor>& leaves, const Choice* choice) {
  manual_seed(3);
  Tensor loss;
  if (choice) {
    const Forward forward(*choice, ::testing::TempDir());
    loss = f(leaves);
  } else {
    loss = f(leaves);
  }
  return grad(std::vector{loss}, leaves, {}, false, false, true);
}

// Each of the cheapest cuts, and with what it keeps in a file.
void expect_same_gradients(const Forwarded& f, const std::vector<Tensor>& leaves, int least_repeated) {
  const std::vector<Tensor> plain = gradients(f, leaves, nullptr);
  Recording r;
  {
    manual_seed(3);
    const Forward forward(r);
    f(leaves);
  }
  int repeated = 0;
  int64_t stowed_bytes = 0;
  for (const Cut& cut : cheapest_at_all_prices(r, 16)) {
    for (const Choice& choice : {cut.choice, stowed(r, cut)}) {
      const std::vector<Tensor> again = gradients(f, leaves, &choice);
      for (size_t i = 0; i < plain.size(); ++i)
        EXPECT_TRUE(plain[i].defined() ? equal(plain[i], again[i]) : !again[i].defined()) << "leaf " << i;
      stowed_bytes = std::max(stowed_bytes, choice.stowed_bytes);
    }
    repeated = std::max(repeated, int(std::count(cut.choice.again.begin(), cut.choice.again.end(), true)));
  }
  EXPECT_GE(repeated, least_repeated);
  EXPECT_GT(stowed_bytes, 0);
}

std::vector<Tensor> leaves() {
  manual_seed(1);
  std::vector<Tensor> all{randn({128, 16}), randn({16, 16}), randn({16})};
  for (Tensor& t : all) t.requires_grad_();
  return all;
}

TEST(Recompute, PointwiseProductsAndViews) {
  expect_same_gradients(
      [](auto& l) {
        const Tensor h = gelu(matmul(l[0], l[1]) + l[2]);
        const Tensor t = h.view({64, 2, 16}).transpose(0, 1);
        return (softmax(t, -1) * sigmoid(t) + exp(-square(t))).sum();
      },
      leaves(), 6);
}

TEST(Recompute, RandomNumbersAreThoseOfTheForward) {
  expect_same_gradients([](auto& l) { return square(dropout(tanh(dropout(matmul(l[0], l[1]), 0.5, true)), 0.3, true)).sum(); },
                        leaves(), 4);
}

TEST(Recompute, WrittenInPlaceIsKept) {
  expect_same_gradients(
      [](auto& l) {
        Tensor a = l[0] * 2.0, b = exp(a);
        a.add_(1.0);
        Tensor c = b * a;
        c.mul_(b);
        return (exp(sigmoid(c)) * l[2]).sum();
      },
      leaves(), 1);
}

TEST(Recompute, SeveralResultsAndNorms) {
  expect_same_gradients(
      [](auto& l) {
        const Tensor n = layer_norm(l[0], {16}, l[2], l[2]);
        const auto [values, indices] = topk(matmul(n, l[1]), 4);
        return (values * n.std()).sum() + cross_entropy(n, indices.select(1, 0));
      },
      leaves(), 3);
}

TEST(Recompute, Autocast) {
  expect_same_gradients(
      [](auto& l) {
        const Autocast low(bf16);
        return matmul(gelu(matmul(l[0], l[1])), l[1]).to(f32).square().mean();
      },
      leaves(), 3);
}

TEST(Recompute, AnotherForwardThanThePlannedOneKeepsWhatDiffers) {
  const std::vector<Tensor> l = leaves();
  const Forwarded one = [](auto& x) { return exp(sigmoid(x[0])).sum() + (x[1].sum() + x[2].sum()); };
  const Forwarded other = [](auto& x) { return (tanh(exp(x[0])) * sigmoid(x[0])).sum() + (x[1].sum() + x[2].sum()); };
  Recording r;
  {
    const Forward forward(r);
    one(l);
  }
  Choice all = cheapest(r, 1).choice;
  EXPECT_TRUE(all.any());
  const std::vector<Tensor> plain = gradients(other, l, nullptr), again = gradients(other, l, &all);
  for (size_t i = 0; i < l.size(); ++i) EXPECT_TRUE(equal(plain[i], again[i]));
}

TEST(Recompute, WhatIsReadAgainMustNotHaveChanged) {
  const std::vector<Tensor> l = leaves();
  const Tensor x = randn({128, 16});
  const Forwarded f = [&](auto& y) { return square(sigmoid(x) * y[0] + 1.0).sum(); };
  Recording r;
  {
    const Forward forward(r);
    f(l);
  }
  const Choice all = cheapest(r, 1).choice;
  Tensor loss;
  {
    const Forward forward(all);
    loss = f(l);
  }
  x.add_(1.0);
  EXPECT_THROW(loss.backward(), Error);
}

// A view keeps its whole memory in the file once, whoever else saves it; what cannot be written is one line.
TEST(Recompute, WhatLiesInAFileTakesNoMemoryBetweenForwardAndBackward) {
  const std::vector<Tensor> l = leaves();
  const Forwarded f = [](auto& x) {
    Tensor y = x[0];
    for (int i = 0; i < 8; ++i) y = exp(sigmoid(y));
    return (y.slice(0, 0, 64) * y.slice(0, 64, 128)).sum();
  };
  Recording r;
  {
    const Forward forward(r);
    f(l);
  }
  const auto held = [&](const Choice& c, const std::string& folder) {
    const int64_t before = memory_stats().total;
    Tensor loss;
    {
      const Forward forward(c, folder);
      loss = f(l);
    }
    const int64_t between = memory_stats().total - before;
    const Tensor gradient = grad(std::vector{loss}, std::vector{l[0]})[0];
    EXPECT_TRUE(equal(gradient, grad(std::vector{f(l)}, std::vector{l[0]})[0]));
    return between;
  };
  const Cut keep = cheapest(r, 0);
  const int64_t memory = held(keep.choice, ""), file = held(stowed(r, keep), ::testing::TempDir());
  EXPECT_GT(memory, 16 * l[0].nbytes());
  EXPECT_LT(file, l[0].nbytes());
  const int64_t half = held(stowed(r, keep, 0.5), ::testing::TempDir());
  EXPECT_GT(half, file);
  EXPECT_LT(half, memory);
  const Choice all = stowed(r, keep);
  const std::string said = [&] {
    try {
      const Forward forward(all, "/proc/nowhere");
      f(l);
    } catch (const Error& e) { return std::string(e.what()); }
    return std::string();
  }();
  EXPECT_TRUE(said.starts_with("/proc/nowhere: cannot be made: ")) << said;
}

TEST(Recompute, GradientsOfGradientsAndTwoBackwards) {
  const std::vector<Tensor> l = leaves();
  const Forwarded f = [](auto& x) { return (exp(sigmoid(x[0])) * tanh(x[0])).sum(); };
  auto twice = [&](const Choice* c) {
    Tensor loss;
    if (c) {
      const Forward forward(*c);
      loss = f(l);
    } else {
      loss = f(l);
    }
    const Tensor first = grad(std::vector{loss}, std::vector{l[0]}, {}, true, true)[0];
    const Tensor second = grad(std::vector{first.square().sum()}, std::vector{l[0]}, {}, true)[0];
    return std::vector{first.detach(), second, grad(std::vector{loss}, std::vector{l[0]})[0]};
  };
  Recording r;
  {
    const Forward forward(r);
    f(l);
  }
  const Choice all = cheapest(r, 1).choice;
  const auto plain = twice(nullptr), again = twice(&all);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(equal(plain[i], again[i])) << i;
}

// Against every subset of the calls of small random graphs.
TEST(Cut, IsTheCheapestOfAllSubsets) {
  uint64_t state = 7;
  auto draw = [&](uint64_t n) {
    return (state = state * 6364136223846793005u + 1442695040888963407u) >> 33 ? (state >> 33) % n : 0;
  };
  for (int round = 0; round < 60; ++round) {
    Recording r;
    const int calls = 8;
    for (int c = 0; c < calls; ++c) {
      RecordedCall call{Op(0), double(1 + draw(9)) * 1e-6, {}, int(r.values.size()), 1, draw(6) != 0};
      for (int k = 0; k < 2 && c; ++k)
        if (draw(4)) call.reads.push_back(int(draw(r.values.size())));
      for (int k = 0; k < call.count; ++k) r.values.push_back({c, int64_t(1 + draw(9)), draw(2) != 0});
      r.calls.push_back(call);
    }
    const double price = 1e-6;
    auto cost = [&](uint32_t again) {
      double sum = 0;
      std::vector<bool> needed;
      for (auto& v : r.values) needed.push_back(v.saved);
      for (int c = calls - 1; c >= 0; --c) {
        if (!(again >> c & 1)) continue;
        if (!r.calls[size_t(c)].repeatable) return HUGE_VAL;
        sum += r.calls[size_t(c)].seconds;
        for (int v : r.calls[size_t(c)].reads) needed[size_t(v)] = true;
      }
      for (size_t v = 0; v < needed.size(); ++v)
        if (needed[v] && !(again >> r.values[v].call & 1)) sum += price * double(r.values[v].bytes);
      return sum;
    };
    double best = HUGE_VAL;
    for (uint32_t s = 0; s < 1u << calls; ++s) best = std::min(best, cost(s));
    const Cut cut = cheapest(r, price);
    uint32_t chosen = 0;
    for (int c = 0; c < calls; ++c) chosen |= uint32_t(cut.choice.again[size_t(c)]) << c;
    EXPECT_NEAR(cost(chosen), best, 1e-11) << round;
    EXPECT_NEAR(cut.seconds + price * double(cut.kept), best, 1e-11) << round;
  }
}

}  // namespace
}  // namespace dyadic::inline v1::planning
