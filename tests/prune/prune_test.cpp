// Masks of each pattern, errors against each other, a model block by block, zeros that stay.
#include <gtest/gtest.h>

#include "dyadic/linalg.h"
#include "dyadic/nn_layers.h"
#include "dyadic/optim.h"
#include "dyadic/prune.h"
#include "quant/methods.h"
#include "tests/models/apart.h"

namespace dyadic::testing {
namespace {

using namespace prune;

// Inputs whose features depend on each other and differ in size.
Tensor correlated(int64_t rows, int64_t width) {
  const Tensor mix = randn({width, width}) * 0.25 + eye(width);
  return matmul(randn({rows, width}), mix) * exp(randn({width}));
}
double share_of_zeros(const Tensor& w) { return mean(eq(w, 0).to(f64)).item(); }
double error(const char* name, const Tensor& w, const Tensor& x, const char* sparsity, std::optional<Scope> scope = {}) {
  const Tensor made = prune_matrix(method(name), w, x, parse_sparsity(sparsity), scope);
  EXPECT_NEAR(share_of_zeros(made), parse_sparsity(sparsity).share, 1.0 / double(w.size(1))) << name;
  const quant::Inputs inputs(x);
  return quant::output_error(w, made, &inputs);
}

TEST(Prune, Sparsities) {
  EXPECT_EQ(parse_sparsity("0.3").share, 0.3);
  EXPECT_EQ(parse_sparsity("30%").share, 0.3);
  const Sparsity s = parse_sparsity("2:4");
  EXPECT_EQ(s.zeros, 2);
  EXPECT_EQ(s.of, 4);
  for (const char* bad : {"", "1", "-0.1", "4:2", "0:4", "x", "1:2:3", "nan", "%"})
    EXPECT_THROW(parse_sparsity(bad), ValueError) << bad;
}

TEST(Prune, MasksHaveExactlySoManyZeros) {
  const Tensor scores = tensor({4, 1, 3, 2, 8, 7, 6, 5}).to(f32).reshape({2, 4});
  const auto mask = [&](const char* sparsity, Scope scope) { return mask_of(scores, parse_sparsity(sparsity), scope).to(f32); };
  const auto is = [](const Tensor& mask, std::initializer_list<double> values) {
    return equal(mask.reshape({-1}), tensor(values).to(f32));
  };
  EXPECT_TRUE(is(mask("0.5", Scope::matrix), {0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_TRUE(is(mask("0.5", Scope::row), {1, 0, 1, 0, 1, 1, 0, 0}));
  EXPECT_TRUE(is(mask("2:4", Scope::matrix), {1, 0, 1, 0, 1, 1, 0, 0}));
  EXPECT_TRUE(is(mask("1:2", Scope::matrix), {1, 0, 1, 0, 1, 0, 1, 0}));
  EXPECT_TRUE(is(mask("0.5", Scope::whole_rows), {0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_TRUE(is(mask("0", Scope::matrix), {1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(sum(mask_of(ones({6, 5}), parse_sparsity("0.5"), Scope::matrix).to(i64)).item<int64_t>(), 15);  // of equals too
  EXPECT_THROW(mask_of(ones({2, 6}), parse_sparsity("2:4"), Scope::row), ValueError);
}

TEST(Prune, WandaCountsInputs) {
  manual_seed(1);
  const Tensor w = randn({8, 16}), x = correlated(64, 16);
  const Tensor scores = abs(w.to(f64)) * sqrt(sum(square(x.to(f64)), {0}));
  const Tensor want = w * mask_of(scores, parse_sparsity("0.5"), Scope::row).to(f32);
  EXPECT_TRUE(equal(prune_matrix(method("wanda"), w, x, parse_sparsity("0.5")), want));
}

// On correlated inputs each method that knows more of them errs less.
TEST(Prune, ErrorsAreInOrder) {
  for (const uint64_t seed : {1, 2, 3}) {
    manual_seed(seed);
    const Tensor w = randn({48, 160}), x = correlated(640, 160);
    for (const char* sparsity : {"0.5", "2:4", "0.7"}) {
      const double magnitude = error("magnitude", w, x, sparsity, Scope::row), wanda = error("wanda", w, x, sparsity),
                   sparsegpt = error("sparsegpt", w, x, sparsity);
      EXPECT_LT(wanda, 0.8 * magnitude) << sparsity;
      EXPECT_LT(sparsegpt, wanda) << sparsity;
    }
  }
}

// Within one block, of one row: what stays is where the loss that can be made good is largest, and each weight after a pruned
// one is corrected as Hassibi and Stork's formula says for the columns that remain. In f64.
TEST(Prune, SparseGptMakesGoodWhatItPrunes) {
  manual_seed(4);
  const int64_t n = 24;
  const Tensor w = randn({1, n}), x = correlated(200, n);
  const Tensor made = prune_matrix(method("sparsegpt"), w, x, parse_sparsity("0.5")).to(f64);
  // The best that least squares could do with the same zeros bounds it; leaving the others alone is worse.
  Tensor h = matmul(x.to(f64).t(), x.to(f64));
  h = h + eye(n, std::nullopt, f64) * (0.01 * mean(diagonal(h)).item());
  const auto loss = [&](const Tensor& v) {
    const Tensor e = v - w.to(f64);
    return sum(matmul(e, h) * e).item();
  };
  const Tensor stays = ne(made, 0).to(f64), kept = nonzero(stays.reshape({-1})).reshape({-1});
  const Tensor part = index_select(index_select(h, 0, kept), 1, kept), right = index_select(matmul(w.to(f64), h), 1, kept).t();
  Tensor best = zeros({1, n}, f64);
  best.index_copy_(1, kept, linalg::solve(part, right).t());
  EXPECT_LE(loss(best), loss(made) * (1 + 1e-9));
  EXPECT_LT(loss(made), 0.9 * loss(w.to(f64) * stays));
}

struct Net : nn::Module {
  nn::Linear up{16, 32}, down{32, 8};
  nn::Layer conv{"Conv2d", 1, 4, 3};
  Net() { add("up", up), add("down", down), add("conv", conv); }
  Tensor forward(const Tensor& x) override { return down(relu(up(x))); }
};

TEST(Prune, ModelsWithAReport) {
  manual_seed(5);
  Net net;
  quant::Batches data({correlated(256, 16)});
  const Report r = prune::prune(net, {.method = "wanda", .calibration = &data});
  ASSERT_EQ(r.layers.size(), 3u);
  EXPECT_EQ(r.layers[0].sparsity, 0.5);
  EXPECT_NEAR(r.layers[2].sparsity, 5.0 / 9, 1e-9);  // of each row of 9
  EXPECT_LT(r.layers[0].error, r.layers[0].error_magnitude);
  EXPECT_NE(r.layers[2].fallback.find("are not seen"), std::string::npos);
  EXPECT_EQ(r.bytes, net.nbytes());
  EXPECT_EQ(r.parameters, net.num_parameters());
  EXPECT_EQ(r.zeros, 256 + 128 + 20);
}

TEST(Prune, GloballyAndByRows) {
  manual_seed(6);
  Net net;
  {
    NoGrad guard;
    net.up.weight.mul_(10);
  }
  const Report r = prune::prune(net, {.scope = Scope::global, .exclude = {"conv.*"}});
  EXPECT_EQ(r.zeros, (16 * 32 + 32 * 8) / 2);
  EXPECT_LT(r.layers[0].sparsity, r.layers[1].sparsity);
  Net rows;
  prune::prune(rows, {.sparsity = parse_sparsity("0.25"), .scope = Scope::whole_rows, .include = {"up.weight"}});
  const Tensor dead = logical_not(any(ne(rows.up.weight, 0), 1));
  EXPECT_EQ(sum(dead.to(i64)).item<int64_t>(), 8);
  EXPECT_TRUE(equal(eq(rows.up.bias, 0), dead));
}

TEST(Prune, MaskedWeightsStayZeroInTraining) {
  manual_seed(7);
  Net net;
  prune::prune(net, {.exclude = {"conv.*"}});
  const Masks masks(net);
  EXPECT_EQ(masks.zeros(), (16 * 32 + 32 * 8) / 2);
  const Tensor before = net.up.weight.detach().clone();
  optim::AdamW adamw(net.named_parameters(), {.lr = 1e-2});
  const Tensor x = randn({32, 16});
  for (int step = 0; step < 3; ++step) {
    adamw.zero_grad();
    sum(square(net(x) - 1)).backward();
    adamw.step();
    masks.apply();
  }
  EXPECT_TRUE(equal(eq(net.up.weight, 0), eq(before, 0)));
  EXPECT_FALSE(equal(net.up.weight, before));
}

TEST(Prune, Refuses) {
  Net net;
  const auto words = [&](const PruneOptions& o) -> std::string {
    try {
      prune::prune(net, o);
    } catch (const ValueError& e) { return e.what(); }
    return "";
  };
  EXPECT_NE(words({.method = "wanda"}).find("needs calibration data"), std::string::npos);
  EXPECT_NE(words({.method = "wnda"}).find("did you mean wanda?"), std::string::npos);
  EXPECT_NE(words({.include = {"upp.*"}}).find("fits \"upp.*\""), std::string::npos);
  EXPECT_NE(words({.sparsity = parse_sparsity("2:4")}).find("conv.weight is f32[4, 1, 3, 3]; exclude it"), std::string::npos);
  EXPECT_NE(words({.sparsity = parse_sparsity("2:4"), .scope = Scope::global}).find("to no N:M pattern"), std::string::npos);
  EXPECT_EQ(share_of_zeros(net.up.weight), 0);
  net.down.to(DType::parse("i8(row)"));
  EXPECT_NE(words({}).find("down.weight is i8(row): prune first"), std::string::npos);
}

}  // namespace
}  // namespace dyadic::testing
