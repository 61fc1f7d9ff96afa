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
