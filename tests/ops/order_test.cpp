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

// Keys that counting their leading bits parts badly: over all exponents, equal, equal but for the ends, in order.
TEST(Order, ChosenFromAnyKeys) {
  for (const int64_t n : {65, 300, 3000, 140001}) {
    manual_seed(uint64_t(n));
    const Tensor noise = randn({n}, f64), last = arange(0, n, 1, f64);
    const Tensor kinds[] = {exp(mul(noise, 100.0)), zeros({n}, f64), mul(eq(last, double(n - 1)).to(f64), 1e300), last};
    for (const Tensor& kind : kinds)
      for (const DType d : {f64, f32, bf16, i64, i32}) {
        const Tensor t = clamp(kind, -1e9, d.is_floating_point() ? 1e30 : 1e9).to(d);
        const std::vector<double> x = t.to_vector();
        std::vector<int64_t> order(static_cast<size_t>(n));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return x[size_t(i)] < x[size_t(j)]; });
        for (const int64_t k : {int64_t{1}, n / 40 + 1, n / 3, n - 1, n})
          ASSERT_EQ(kthvalue(t, k, 0).indices.item<int64_t>(), order[size_t(k - 1)]) << d.name() << " " << n << " " << k;
        for (const int64_t k : {int64_t{1}, n / 40 + 1, n / 3})
          ASSERT_TRUE(std::equal(order.begin(), order.begin() + k, topk(t, k, 0, false).indices.data<int64_t>()))
              << d.name() << " " << n << " " << k;
        if (!d.is_floating_point()) continue;
        const double at[] = {0.25, 0.5};
        const std::vector<double> lower =
            call(Op::quantile_, t.to(f64), from_data(at, {2}, f64), int64_t(0), false, std::string_view("lower")).to_vector();
        for (int q = 0; q < 2; ++q)
          ASSERT_EQ(lower[size_t(q)], x[size_t(order[size_t(at[q] * double(n - 1))])]) << d.name() << " " << n;
      }
  }
}

TEST(Order, CountedIntegers) {
  for (const int64_t n : {1, 100, 70001})
    for (const DType d : {i64, i32, i16, i8, u8})
      for (const int64_t range : {1, 100, 3000}) {
        if (range > 100 && (d == i8 || d == u8)) continue;
        manual_seed(uint64_t(n + range));
        const int64_t low = d == u8 ? 0 : -7;
        const Tensor x = add(randint(0, range, {n}), low).to(d);
        std::vector<double> expected(size_t(range), 0), held, counts;
        for (const double v : x.to_vector()) ++expected[size_t(int64_t(v) - low)];
        for (int64_t k = 0; k < range; ++k)
          if (expected[size_t(k)] > 0) held.push_back(double(k + low)), counts.push_back(expected[size_t(k)]);
        const std::vector<Tensor> r = call_all(Op::unique_, x, true, true, true);
        EXPECT_EQ(r[0].dtype(), d);
        EXPECT_EQ(r[0].to_vector(), held);
        EXPECT_EQ(index_select(r[0], 0, r[1]).to_vector(), x.to_vector());
        EXPECT_EQ(r[2].to_vector(), counts);
        if (low == 0) { EXPECT_EQ(bincount(x, {}, range).to_vector(), expected); }
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
