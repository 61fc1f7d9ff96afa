// Sorting, selecting and counting against the standard library, for rows below and above the sizes at which methods change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "dyadic/ops.h"

namespace dyadic {
namespace {

// A coarse grid, so that there are equal ones, with NaN and infinities among them where the type has them.
Tensor values(int64_t n, DType d) {
  manual_seed(uint64_t(n));
  std::vector<double> x = floor(mul(randn({n}, f64), 8.0)).to_vector();
  if (d.is_floating_point())
    for (int64_t i = 5; i < n; i += 41) x[size_t(i)] = i % 2 ? NAN : i % 4 ? -INFINITY : -0.0;
  return from_data(x.data(), {n}, f64).to(d);
}

bool before(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

TEST(Order, SortIsStableInEveryType) {
  for (const int64_t n : {1, 2, 100, 191, 192, 5000, 140001})
    for (const DType d : {f64, f32, f16, bf16, f8e4m3fn, i64, i32, i16, i8, u8})
      for (const bool descending : {false, true}) {
        if (d == f8e4m3fn && n < 2) continue;
        const Tensor t = values(n, d);
        const std::vector<double> x = t.to_vector();
        std::vector<int64_t> expected(size_t(n), 0);
        std::iota(expected.begin(), expected.end(), 0);
        std::stable_sort(expected.begin(), expected.end(), [&](int64_t i, int64_t j) {
          return descending ? before(x[size_t(j)], x[size_t(i)]) : before(x[size_t(i)], x[size_t(j)]);
        });
        const ValuesIndices r = sort(t, 0, descending);
        const int64_t* found = r.indices.data<int64_t>();
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), found)) << d.name() << " " << n << " " << descending;
        ASSERT_EQ(std::memcmp(r.values.data_ptr(), index_select(t, 0, r.indices).data_ptr(), size_t(t.nbytes())), 0);
        const int64_t k = std::min<int64_t>(n, 17);
        const ValuesIndices top = topk(t, k, 0, descending);
        ASSERT_TRUE(std::equal(expected.begin(), expected.begin() + k, top.indices.data<int64_t>())) << d.name() << " " << n;
        if (descending) continue;
        const ValuesIndices kth = kthvalue(t, (n + 1) / 2, 0);
        ASSERT_EQ(kth.indices.item<int64_t>(), expected[size_t((n + 1) / 2 - 1)]) << d.name() << " " << n;
      }
}

TEST(Order, MasksOfManyPieces) {
  manual_seed(5);
  for (const int64_t n : {1, 63, 64, 1000, 70001}) {
    const Tensor x = randn({n, 3}), mask = gt(x, 0.3);
    const std::vector<double> v = x.to_vector();
    std::vector<double> expected, places;
    for (size_t i = 0; i < v.size(); ++i)
      if (float(v[i]) > 0.3f) expected.push_back(v[i]), places.insert(places.end(), {double(i / 3), double(i % 3)});
    EXPECT_EQ(masked_select(x, mask).to_vector(), expected);
    EXPECT_EQ(nonzero(mask).to_vector(), places);
    EXPECT_EQ(masked_scatter(zeros_like(x), mask, masked_select(x, mask)).to_vector(),
              where(mask, x, scalar_tensor(0.0)).to_vector());
  }
}

}  // namespace
}  // namespace dyadic
