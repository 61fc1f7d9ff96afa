// What rounding makes of results: overflow, flush to zero, saturation and NaN, by op, module and dtype.
#include "dyadic/counters.h"

#include <gtest/gtest.h>

#include <cmath>

#include "dyadic/dyadic.h"

namespace dyadic {
namespace {

RoundingCount count_of(const char* op) {
  for (const RoundingCount& c : RoundingCounting::counts())
    if (c.op == op) return c;
  return {};
}

TEST(RoundingCounting, TellsFourThingsApart) {
  RoundingCounting::clear();
  const Tensor x = tensor({1e6, -1e6, 1e-9, 1.0, 0.0});
  {
    RoundingCounting on;
    x.to(f16);                            // two infinities, one zero
    cast(x, f16, "nearest", "saturate");  // two at the end of the range, one zero
    x.to(f8e4m3fn);                       // NaN where there is no infinity
    const Tensor half = tensor({300.0, 2.0, 0.0, -1.0}).to(f16);
    mul(half, half);                        // 90000
    div(sub(half, half), sub(half, half));  // 0 / 0
    log(half);                              // of -1, and -infinity of 0
    half.mul_(half);                        // in place: what it was is gone
    zeros({4}, f16).copy_(tensor({1e6, 1.0, 1e-9, 0.0}));
  }
  x.to(f16);  // not counted
  const RoundingCount to = count_of("to"), cast = count_of("cast"), mul = count_of("mul"), div = count_of("div"),
                      log = count_of("log"), copy = count_of("copy");
  EXPECT_EQ(std::tuple(cast.overflows, cast.saturated, cast.flushed, cast.nans), std::tuple(0, 2, 1, 0));
  EXPECT_EQ(std::tuple(mul.overflows, mul.saturated, mul.flushed, mul.nans), std::tuple(1, 0, 0, 0));
  EXPECT_EQ(std::tuple(div.overflows, div.nans), std::tuple(0, 4));
  EXPECT_EQ(std::tuple(log.overflows, log.nans), std::tuple(0, 1));
  EXPECT_EQ(std::tuple(copy.overflows, copy.flushed), std::tuple(1, 1));
  EXPECT_EQ(mul.calls, 1);
  EXPECT_EQ(std::tuple(mul.squared, mul.squared_difference), std::tuple(9e4 * 9e4 + 17, 9e4 * 9e4));
  EXPECT_EQ(to.dtype.name(), "f16");
  EXPECT_EQ(std::tuple(to.calls, to.overflows, to.flushed), std::tuple(2, 2, 1));
}

// Sizes that end within vectors and within the pieces that threads take, numbers of every kind.
TEST(RoundingCounting, AgreesWithAPlainLoop) {
  const int before = num_threads();
  for (DType d : {f16, bf16, f32})
    for (int64_t n : {1, 7, 8, 63, 16384, 50001}) {
      Generator g{uint64_t(n)};
      const Tensor exponent = randn({n}, g) * (d == f16 ? 12.0 : 60.0);
      Tensor x = (randn({n}, g) * exp2(exponent)).to(d);
      x = where(lt(rand({n}, g), full({}, 0.01)), full({}, std::numeric_limits<double>::infinity()).to(d), x);
      x = where(lt(rand({n}, g), full({}, 0.01)), full({}, std::nan("")).to(d), x);
      const Tensor y = mul(x, x), wide = mul(x.to(d == f32 ? f64 : f32), x.to(d == f32 ? f64 : f32));
      const std::vector<double> a = y.to(f64).to_vector(), b = wide.to(f64).to_vector();
      RoundingCount want;
      for (size_t i = 0; i < a.size(); ++i) {
        want.overflows += !std::isfinite(a[i]) && std::isfinite(b[i]);
        want.flushed += a[i] == 0 && b[i] != 0;
        if (!std::isfinite(b[i])) continue;
        const double off = std::isfinite(a[i]) ? a[i] - b[i] : b[i];
        want.squared += b[i] * b[i], want.squared_difference += off * off;
      }
      double squared = 0;
      for (int threads : {1, 2, 3, 7}) {
        set_num_threads(threads);
        RoundingCounting::clear();
        {
          RoundingCounting on;
          mul(x, x);
        }
        const RoundingCount c = count_of("mul");
        EXPECT_EQ(std::tuple(c.elements, c.overflows, c.flushed, c.nans), std::tuple(n, want.overflows, want.flushed, 0)) << n;
        EXPECT_NEAR(c.squared, want.squared, 1e-12 * want.squared * double(n));
        EXPECT_NEAR(c.squared_difference, want.squared_difference, 1e-12 * want.squared_difference * double(n));
        EXPECT_EQ(c.squared, threads == 1 ? c.squared : squared);
        squared = c.squared;
      }
      set_num_threads(before);
    }
}

TEST(RoundingCounting, NamesTheModuleInATable) {
  RoundingCounting::clear();
  nn::Sequential model;
  model.append(std::make_shared<nn::Linear>(4, 2));
  const Tensor x = full({3, 4}, 60000.0, f16);
  {
    NoGrad guard;
    for (auto& [name, p] : model.named_parameters()) p.fill_(1.0);
    model.to(f16);
    RoundingCounting on;
    model(x);
  }
  EXPECT_EQ(RoundingCounting::table(),
            "op      module  dtype  calls  elements  overflow  flushed  saturated  NaN\n"
            "-------------------------------------------------------------------------\n"
            "linear  0       f16        1         6         6        0          0    0\n");
  RoundingCounting::clear();
  EXPECT_EQ(RoundingCounting::counts().size(), 0u);
}

// Kernels that keep f32 statistics beside narrow numbers: the shadow keeps them too.
TEST(RoundingCounting, OfGradientsBesideStatistics) {
  for (DType d : {bf16, f16}) {
    RoundingCounting::clear();
    const Tensor x = (randn({4, 8}) * 3).to(d).requires_grad_(), w = ones({8}, d).requires_grad_();
    const int64_t classes[] = {0, 3, 7, 1};
    const Tensor target = from_data(classes, {4}, i64);
    {
      RoundingCounting on;
      cross_entropy(layer_norm(x, {8}, w), target).backward();
    }
    EXPECT_GT(count_of("cross_entropy_loss_backward").elements, 0);
    EXPECT_EQ(count_of("cross_entropy_loss_backward").overflows, 0);
    EXPECT_EQ(count_of("native_layer_norm_backward").overflows, 0);
    EXPECT_EQ(count_of("native_layer_norm_backward").nans, 0);
  }
}

TEST(Counting, PrintsATable) {
  Counting::clear();
  {
    Counting on;
    matmul(ones({8, 8}), ones({8, 8}));
  }
  EXPECT_NE(Counting::table().find("\nmatmul  f32 "), std::string::npos) << Counting::table();
}

}  // namespace
}  // namespace dyadic
