// Scans against a plain loop: rows long enough to be cut into blocks, odd rests, columns, every compute type.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "dyadic/ops.h"

namespace dyadic {
namespace {

// Small whole numbers: sums are exact in every type.
std::vector<double> numbers(int64_t n) {
  std::vector<double> x;
  for (int64_t i = 0; i < n; ++i) x.push_back(double((i * 7 + 3) % 11 - 5));
  return x;
}

TEST(ScanKernel, SumsOfLongRowsInEveryType) {
  for (const int64_t n : {1, 3, 1023, 16384, 65537, 100003}) {
    const std::vector<double> x = numbers(n);
    for (const DType d : {f64, f32, i64, i32, i8}) {
      const Tensor t = from_data(x.data(), {n}, f64).to(d);
      const std::vector<double> y = cumsum(t, 0).to_vector();
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        sum += x[size_t(i)];
        ASSERT_EQ(y[size_t(i)], sum) << d.name() << " at " << i << " of " << n;
      }
    }
  }
}

TEST(ScanKernel, ColumnsAreRows) {
  const std::vector<double> x = numbers(5 * 301);
  const Tensor t = from_data(x.data(), {5, 301}, f64);
  for (const DType d : {f64, f32, bf16, i64, i32}) {
    const Tensor v = t.to(d);
    EXPECT_EQ(cumsum(v, 0).to_vector(), cumsum(v.transpose(0, 1).contiguous(), 1).transpose(0, 1).to_vector()) << d.name();
    EXPECT_EQ(cummax(v, 0).values.to_vector(), cummax(v.transpose(0, 1).contiguous(), 1).values.transpose(0, 1).to_vector());
  }
}

// Steps of 5 stay among eights, steps of 200 go one by one, exponentials of either would overflow.
TEST(ScanKernel, LogSumsOfExponentials) {
  for (const double step : {0.3, 5.0, 200.0, -200.0}) {
    for (const int64_t n : {1, 7, 8, 1023, 3001, 70001}) {
      std::vector<double> x = numbers(n);
      for (double& v : x) v *= step;
      const Tensor t = from_data(x.data(), {n}, f64);
      const std::vector<double> wide = logcumsumexp(t, 0).to_vector(), narrow = logcumsumexp(t.to(f32), 0).to_vector();
      const std::vector<double> down = select(logcumsumexp(t.view({n, 1}).expand({n, 9}), 0), 1, 8).to_vector();
      long double top = -HUGE_VALL, sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        const long double v = x[size_t(i)], now = std::max(top, v);
        sum = (sum == 0 ? 0 : sum * std::exp(top - now)) + std::exp(v - now);
        top = now;
        const auto want = double(top + std::log(sum));
        const double most = std::abs(want) + std::abs(step) * 5;
        ASSERT_NEAR(wide[size_t(i)], want, 1e-14 * most) << "step " << step << " at " << i << " of " << n;
        ASSERT_NEAR(down[size_t(i)], want, 1e-13 * most) << "step " << step << " at " << i << " of " << n;
        ASSERT_NEAR(narrow[size_t(i)], want, 2e-7 * most) << "step " << step << " at " << i << " of " << n;
      }
    }
  }
}

TEST(ScanKernel, LogSumsOfInfinitiesAndNaN) {
  constexpr double kInf = HUGE_VAL;
  std::vector<double> x(40, 1.0);
  x[0] = x[1] = x[20] = -kInf;
  x[25] = x[27] = kInf;
  for (const int64_t bad : {-1, 12, 30}) {
    std::vector<double> v = x;
    if (bad >= 0) v[size_t(bad)] = NAN;
    for (const DType d : {f64, f32}) {
      const std::vector<double> y = logcumsumexp(from_data(v.data(), {40}, f64).to(d), 0).to_vector();
      for (int64_t i = 0; i < 40; ++i) {
        const double got = y[size_t(i)];
        if (bad >= 0 && i >= bad)
          EXPECT_TRUE(std::isnan(got)) << i;
        else if (i < 2 || i >= 25)
          EXPECT_EQ(got, i < 2 ? -kInf : kInf) << i;
        else
          EXPECT_NEAR(got, 1 + std::log(double(i - 1 - (i >= 20))), 1e-6) << i;
      }
    }
  }
}

}  // namespace
}  // namespace dyadic
