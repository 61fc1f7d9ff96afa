// Scans against a plain loop: rows long enough to be cut into blocks, odd rests, columns, every compute type.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace dyadic
