// tf32 and the precision of f32 products.
#include "dyadic/precision.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "dyadic/dyadic.h"

namespace dyadic {
namespace {

double value(const Tensor& t) { return t.item(); }

TEST(Tf32, RoundsToTenBits) {
  const double eps = 0x1p-10;
  const std::pair<double, double> cases[] = {{1 + eps, 1 + eps},           {1 + eps / 2, 1},  // ties to even
                                             {1 + 1.5 * eps, 1 + 2 * eps}, {1 + 0.51 * eps, 1 + eps},
                                             {-3.14159274, -3.140625},     {3.4e38, 3.4e38 * 0 + 0x1.ff8p127},
                                             {1e-40, 0x1.2p-133}};
  for (auto [x, want] : cases) EXPECT_EQ(value(round_to(tensor({x}), "tf32")), want) << x;
  EXPECT_EQ(value(round_to(tensor({double(0x1.fffffep127)}), "tf32")), INFINITY);
  EXPECT_EQ(value(round_to(tensor({INFINITY}), "tf32")), INFINITY);
  EXPECT_TRUE(std::isnan(value(round_to(tensor({NAN}), "tf32"))));
  EXPECT_EQ(value(round_to(tensor({0.1}), "bf16")), 0.10009765625);
  EXPECT_EQ(round_to(ones({2, 64}), "q8_0").dtype(), f32);
}

TEST(Tf32, MatmulPrecision) {
  EXPECT_EQ(get_float32_matmul_precision(), "highest");
  manual_seed(1);
  const Tensor a = randn({40, 50}), b = randn({50, 30}), w = randn({30, 50}), bias = randn({30});
  const Tensor exact = matmul(a, b);
  const auto same = [](const Tensor& x, const Tensor& y) {
    return std::memcmp(x.contiguous().data<float>(), y.contiguous().data<float>(), size_t(x.nbytes())) == 0;
  };
  for (auto [precision, format] : {std::pair{"high", "tf32"}, {"medium", "bf16"}}) {
    set_float32_matmul_precision(precision);
    const Tensor product = matmul(a, b), layer = linear(a, w, bias);
    set_float32_matmul_precision("highest");
    EXPECT_TRUE(same(product, matmul(round_to(a, format), round_to(b, format)))) << precision;
    EXPECT_TRUE(same(layer, linear(round_to(a, format), round_to(w, format), bias))) << precision;
    EXPECT_FALSE(same(product, exact)) << precision;
  }
  EXPECT_TRUE(same(matmul(a, b), exact));
  EXPECT_THROW(set_float32_matmul_precision("low"), ValueError);
}

}  // namespace
}  // namespace dyadic
