// Reductions against plain loops in f64 or i64 over every kind of shape and format; accuracy of long sums; NaN, empty, ties.
#include "ops/reduce/reduce_kernel.h"

#include "tests/ops/kernel_data.h"

namespace dyadic::test {
namespace {

using Values = std::vector<double>;

Array reduce(ReduceOp op, const ReduceShape& s, const Array& x, DType out) {
  Array y(out, s.outer * s.inner);
  Workspace space(reduce_kernel().workspace(op, s, *x.format));
  reduce_kernel().run(op, s, x.source(), y.target(), {}, space.data());
  return y;
}

using Long = long double;  // the oracle's sums must be better than the kernel's

Long plain_step(ReduceOp op, Long acc, Long x) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::mean:
      return acc + x;
    case ReduceOp::prod:
      return acc * x;
    case ReduceOp::sum_squares:
      return acc + x * x;
    case ReduceOp::sum_abs:
      return acc + std::fabs(x);
    case ReduceOp::any:
      return acc != 0 || x != 0;
    case ReduceOp::all:
      return acc != 0 && x != 0;
    case ReduceOp::max:
      return std::isnan(acc) || std::isnan(x) ? kNaN : std::fmax(acc, x);
    default:
      return std::isnan(acc) || std::isnan(x) ? kNaN : std::fmin(acc, x);
  }
}

Values plain(ReduceOp op, const ReduceShape& s, const Values& x) {
  Values y(s.outer * s.inner);
  const bool index = op == ReduceOp::argmax || op == ReduceOp::argmin;
  for (int64_t o = 0; o < s.outer; o++) {
    for (int64_t j = 0; j < s.inner; j++) {
      auto at = [&](int64_t i) { return x[(o * s.n + i) * s.inner + j]; };
      Long acc = op == ReduceOp::prod || op == ReduceOp::all ? 1 : 0;
      if (op == ReduceOp::max) acc = -kInf;
      if (op == ReduceOp::min) acc = kInf;
      int64_t best = 0;
      for (int64_t i = 0; i < s.n; i++) {
        if (!index) acc = plain_step(op, acc, at(i));
        const bool better = op == ReduceOp::argmax ? at(i) > at(best) : at(i) < at(best);
        if (!std::isnan(at(best)) && (better || std::isnan(at(i)))) best = i;
      }
      if (op == ReduceOp::mean) acc /= static_cast<Long>(s.n);
      y[o * s.inner + j] = index ? static_cast<double>(best) : static_cast<double>(acc);
    }
  }
  return y;
}

constexpr ReduceOp kOps[] = {ReduceOp::sum,     ReduceOp::mean,   ReduceOp::prod,  ReduceOp::sum_squares,
                             ReduceOp::sum_abs, ReduceOp::any,    ReduceOp::all,   ReduceOp::max,
                             ReduceOp::min,     ReduceOp::argmax, ReduceOp::argmin};
constexpr ReduceShape kShapes[] = {{1, 1, 1},  {3, 7, 1},    {1, 4095, 1}, {2, 4097, 1}, {2, 70001, 1}, {1, 1000, 1},
                                   {1, 5, 3},  {4, 33, 5},   {1, 777, 35}, {2, 260, 33}, {5, 1, 9},     {1, 3, 5000},
                                   {70, 4, 6}, {300, 65, 1}, {0, 4, 2},    {3, 6, 0},    {1, 20000, 2}};

TEST(ReduceKernel, FloatsMatchPlainLoops) {
  for (DType dtype : {f32, f64, bf16, f16}) {
    for (const ReduceShape& s : kShapes) {
      if (s.outer * s.n * s.inner > 20000 && dtype == f16) continue;
      Numbers numbers(1);
      Values v = numbers.normals(s.outer * s.n * s.inner);
      for (double& x : v) x = std::abs(x) + 0.1;  // sums without cancellation: the bound is relative
      for (ReduceOp op : kOps) {
        Values w = v;
        if (op == ReduceOp::prod) {
          for (double& x : w) x = 1 + (x - 1) / 4096;  // products that stay in range
        }
        if (op == ReduceOp::any) {
          for (size_t i = 0; i < w.size(); i++) w[i] = i % 1013 == 7 ? w[i] : 0;
        }
        const Array x(dtype, w);
        const bool index = op == ReduceOp::argmax || op == ReduceOp::argmin;
        const DType out = op == ReduceOp::any || op == ReduceOp::all ? boolean : index ? i64 : dtype;
        const bool steps = op == ReduceOp::prod;  // every multiplication rounds: n / 32 of them in a lane
        const double e = relative_error(dtype) + (steps ? (dtype == f64 ? 1e-13 : 1e-4) : dtype == f64 ? 0 : 1e-6);
        if (steps && dtype != f64 && s.n > 4097) continue;
        Values want = plain(op, s, x.values());
        for (double& value : want) {
          if (out == f16 && value >= 65520) value = kInf;
        }
        expect_close(reduce(op, s, x, out).values(), want, e, 0, "reduce");
      }
    }
  }
}

TEST(ReduceKernel, IntegersAreExactAndWrap) {
  for (DType dtype : {i64, i32, i16, u16, i8, u8, boolean}) {
    for (const ReduceShape& s : kShapes) {
      if (s.outer * s.n * s.inner > 20000 && dtype != i32 && dtype != u8) continue;  // one wide and one narrow is enough
      Numbers numbers(2);
      std::vector<int64_t> v(s.outer * s.n * s.inner);
      for (auto& x : v) x = dtype == boolean ? static_cast<int64_t>(numbers.bits() & 1) : static_cast<int64_t>(numbers.bits());
      Array x(dtype, static_cast<int64_t>(v.size()));
      convert(*i64.format(), v.data(), *dtype.format(), x.bytes.data(), x.size());
      convert(*dtype.format(), x.bytes.data(), *i64.format(), v.data(), x.size());
      for (ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::min, ReduceOp::any, ReduceOp::all}) {
        std::vector<int64_t> want(s.outer * s.inner), got(want.size());
        for (int64_t o = 0; o < s.outer; o++) {
          for (int64_t j = 0; j < s.inner; j++) {
            uint64_t sum = 0, product = 1;
            int64_t most = std::numeric_limits<int64_t>::min(), least = std::numeric_limits<int64_t>::max();
            bool any = false, all = true;
            for (int64_t i = 0; i < s.n; i++) {
              const int64_t e = v[(o * s.n + i) * s.inner + j];
              sum += static_cast<uint64_t>(e);
              product *= static_cast<uint64_t>(e);
              most = std::max(most, e);
              least = std::min(least, e);
              any = any || e != 0;
              all = all && e != 0;
            }
            int64_t& w = want[o * s.inner + j];
            if (op == ReduceOp::sum) w = static_cast<int64_t>(sum);
            if (op == ReduceOp::prod) w = static_cast<int64_t>(product);
            if (op == ReduceOp::max) w = most;
            if (op == ReduceOp::min) w = least;
            if (op == ReduceOp::any) w = any;
            if (op == ReduceOp::all) w = all;
          }
        }
        const Array y = reduce(op, s, x, i64);
        if (!got.empty()) std::memcpy(got.data(), y.bytes.data(), y.bytes.size());
        ASSERT_EQ(got, want) << dtype.name() << " op " << int(op) << " n " << s.n << " inner " << s.inner;
      }
      if (dtype == i64) continue;  // i64 values don't fit the plain loop's doubles
      for (ReduceOp op : {ReduceOp::argmax, ReduceOp::argmin}) {
        expect_close(reduce(op, s, x, i64).values(), plain(op, s, x.values()), 0, 0, "arg");
      }
    }
  }
}

TEST(ReduceKernel, ExtremaPropagateNaNAndTakeTheFirstOfEqual) {
  for (DType dtype : {f32, f64, bf16}) {
    for (ReduceOp op : {ReduceOp::max, ReduceOp::min, ReduceOp::argmax, ReduceOp::argmin}) {
      for (const ReduceShape& s : {ReduceShape{2, 9000, 1}, ReduceShape{1, 70000, 1}, ReduceShape{2, 600, 19}}) {
        for (int64_t bad : {int64_t{-1}, int64_t{0}, int64_t{31}, int64_t{599}}) {
          Numbers numbers(3);
          Values v(s.outer * s.n * s.inner);
          for (double& x : v) x = static_cast<double>(numbers.below(5)) - 2;  // many ties
          if (bad >= 0) v[bad * s.inner] = v[(bad + s.n / 2 < s.n ? bad + s.n / 2 : bad) * s.inner] = kNaN;
          const Array x(dtype, v);
          const DType out = op == ReduceOp::max || op == ReduceOp::min ? dtype : i64;
          expect_close(reduce(op, s, x, out).values(), plain(op, s, v), 0, 0, "extremum");
        }
      }
    }
  }
}

TEST(ReduceKernel, InfinitiesAndNaNInSums) {
  for (DType dtype : {f32, f64, bf16}) {
    const Array x(dtype, Values{1, kInf, 2, -kInf, 1, 2, kInf, kInf, 3, kNaN, 0, 0});
    expect_close(reduce(ReduceOp::sum, {6, 2, 1}, x, dtype).values(), {kInf, -kInf, 3, kInf, kNaN, 0}, 0, 0, "sum");
    expect_close(reduce(ReduceOp::sum, {1, 6, 2}, x, dtype).values(), {kInf, kNaN}, 0, 0, "sum");
    expect_close(reduce(ReduceOp::any, {6, 2, 1}, x, boolean).values(), {1, 1, 1, 1, 1, 0}, 0, 0, "any");
    expect_close(reduce(ReduceOp::all, {6, 2, 1}, x, boolean).values(), {1, 1, 1, 1, 1, 0}, 0, 0, "all");
  }
}

TEST(ReduceKernel, SumsWithoutNaN) {
  for (DType dtype : {f32, f64, bf16}) {
    for (const ReduceShape& s : kShapes) {
      Numbers numbers(7);
      Values v(s.outer * s.n * s.inner), zeros, ones;
      for (double& x : v) x = numbers.below(3) ? static_cast<double>(numbers.below(9)) / 8 : kNaN;
      for (double x : v) zeros.push_back(std::isnan(x) ? 0 : x), ones.push_back(!std::isnan(x));
      const Array x(dtype, v);
      expect_close(reduce(ReduceOp::nan_sum, s, x, f64).values(), plain(ReduceOp::sum, s, zeros), 1e-6, 0, "nan_sum");
      expect_close(reduce(ReduceOp::numbers, s, x, i64).values(), plain(ReduceOp::sum, s, ones), 0, 0, "numbers");
    }
  }
}

TEST(ReduceKernel, LogSumExpMatchesPlainLoops) {
  for (DType dtype : {f32, f64, bf16}) {
    for (double scale : {1.0, 300.0}) {  // 300: sums are begun anew at larger elements, exponentials would overflow
      for (const ReduceShape& s : kShapes) {
        Numbers numbers(8);
        const Array x(dtype, numbers.normals(s.outer * s.n * s.inner, scale));
        const Values v = x.values();
        Values want(s.outer * s.inner);
        for (int64_t o = 0; o < s.outer; o++) {
          for (int64_t j = 0; j < s.inner; j++) {
            auto at = [&](int64_t i) { return v[(o * s.n + i) * s.inner + j]; };
            double top = -kInf;
            Long sum = 0;
            for (int64_t i = 0; i < s.n; i++) top = std::max(top, at(i));
            for (int64_t i = 0; i < s.n; i++) sum += std::exp(Long(at(i)) - top);
            want[o * s.inner + j] = double(top + std::log(sum));
          }
        }
        const double e = dtype == f64 ? 1e-14 : 1e-6;
        expect_close(reduce(ReduceOp::logsumexp, s, x, f64).values(), want, e, e, "logsumexp");
      }
    }
  }
}

TEST(ReduceKernel, LogSumExpOfInfinitiesAndNaN) {
  for (DType dtype : {f32, f64, bf16}) {
    const Array x(dtype, Values{1, kInf, -kInf, -kInf, kInf, -kInf, kInf, kInf, kInf, kNaN, -kInf, kNaN, -kInf, 2});
    expect_close(reduce(ReduceOp::logsumexp, {7, 2, 1}, x, f64).values(), {kInf, -kInf, kInf, kInf, kNaN, kNaN, 2}, 1e-6, 0,
                 "rows");
    expect_close(reduce(ReduceOp::logsumexp, {1, 7, 2}, x, f64).values(), {kInf, kNaN}, 0, 0, "columns");
    for (int64_t inner : {1, 2}) {  // over several blocks
      for (double special : {kInf, kNaN}) {
        Values v(size_t(300000 * inner), -kInf);
        v[0] = 1;
        v[size_t(200000 * inner)] = special;
        EXPECT_EQ(std::isnan(reduce(ReduceOp::logsumexp, {1, 300000, inner}, Array(dtype, v), f64).values()[0]),
                  std::isnan(special));
      }
    }
  }
}

TEST(ReduceKernel, ExtremesAreMinAndMax) {
  for (DType dtype : {f32, f64, bf16, i64, i32, i16, u8, i8, boolean}) {
    for (const ReduceShape& s : kShapes) {
      Numbers numbers(9);
      Values v(s.outer * s.n * s.inner);
      const bool real = dtype.is_floating_point();
      for (double& x : v) x = real && numbers.below(2000) == 0 ? kNaN : static_cast<double>(numbers.below(100));
      const Array x(dtype, v);
      Array low(dtype, s.outer * s.inner), high = low;
      Workspace space(reduce_kernel().workspace(ReduceOp::extremes, s, *x.format));
      reduce_kernel().run(ReduceOp::extremes, s, x.source(), low.target(), high.target(), space.data());
      expect_close(low.values(), reduce(ReduceOp::min, s, x, dtype).values(), 0, 0, "low");
      expect_close(high.values(), reduce(ReduceOp::max, s, x, dtype).values(), 0, 0, "high");
    }
  }
}

// What is cut out of wider rows gives the bits of a copy.
TEST(ReduceKernel, MomentsMatchPlainLoops) {
  for (DType dtype : {f32, f64, bf16}) {
    for (const ReduceShape& s : kShapes) {
      for (double offset : {0.0, 1000.0}) {
        if (offset != 0 && dtype == bf16) continue;  // has no digits left for what is about it
        Values v = Numbers(1).normals(s.outer * s.n * s.inner);
        for (double& e : v) e += offset;
        const Array x(dtype, v);
        v = x.values();
        const int64_t count = s.outer * s.inner;
        Array squares(f64, count), means(f64, count);
        Workspace space(reduce_kernel().workspace(ReduceOp::moments, s, *x.format));
        reduce_kernel().run(ReduceOp::moments, s, x.source(), squares.target(), means.target(), space.data());
        const double eps = dtype == f64 ? 1e-15 : 1e-7;
        for (int64_t k = 0; k < count; k++) {
          auto at = [&](int64_t i) { return Long(v[(k / s.inner * s.n + i) * s.inner + k % s.inner]); };
          Long mean = 0, want = 0;
          for (int64_t i = 0; i < s.n; i++) mean += at(i) / s.n;
          for (int64_t i = 0; i < s.n; i++) want += (at(i) - mean) * (at(i) - mean);
          EXPECT_NEAR(means.values()[k], double(mean), 4 * eps * (offset + 1));
          // Differences carry the mean's rounding beside their own: n eps (distance + eps mean).
          EXPECT_NEAR(squares.values()[k], double(want), 60 * eps * double(want) + s.n * std::pow(4 * eps * offset, 2) + 1e-300)
              << dtype.name() << " " << s.outer << " " << s.n << " " << s.inner << " about " << offset;
        }
      }
    }
  }
}

TEST(ReduceKernel, RowsApart) {
  Numbers numbers(10);
  const int64_t step = 9000;
  for (DType dtype : {f32, bf16}) {
    const Array wide(dtype, numbers.normals(5 * step));
    const int64_t width = wide.format->itemsize();
    for (const ReduceShape& s :
         {ReduceShape{5, 7, 1}, ReduceShape{5, 8191, 1}, ReduceShape{5, 40, 3}, ReduceShape{5, 3, 700}}) {
      Array dense(dtype, 5 * s.n * s.inner);
      for (int64_t o = 0; o < 5; o++)
        std::memcpy(dense.bytes.data() + o * s.n * s.inner * width, wide.bytes.data() + o * step * width,
                    size_t(s.n * s.inner * width));
      ReduceShape apart = s;
      apart.step = step;
      for (ReduceOp op : {ReduceOp::sum, ReduceOp::nan_sum, ReduceOp::logsumexp, ReduceOp::max, ReduceOp::argmin}) {
        const DType out = op == ReduceOp::argmin ? i64 : dtype;
        EXPECT_EQ(reduce(op, apart, wide, out).bytes, reduce(op, s, dense, out).bytes) << int(op);
      }
    }
  }
}

TEST(ReduceKernel, EmptySums) {
  for (const ReduceShape& s : {ReduceShape{3, 0, 1}, ReduceShape{1, 0, 3}}) {
    const Array x(f32, 0);
    EXPECT_EQ(reduce(ReduceOp::sum, s, x, f32).values(), Values(3, 0.0));
    EXPECT_EQ(reduce(ReduceOp::prod, s, x, f32).values(), Values(3, 1.0));
    EXPECT_EQ(reduce(ReduceOp::any, s, x, boolean).values(), Values(3, 0.0));
    EXPECT_EQ(reduce(ReduceOp::all, s, x, boolean).values(), Values(3, 1.0));
    EXPECT_EQ(reduce(ReduceOp::logsumexp, s, x, f32).values(), Values(3, -kInf));
    EXPECT_TRUE(std::isnan(reduce(ReduceOp::mean, s, x, f32).values()[2]));
  }
}

TEST(ReduceKernel, LongSumsKeepTheirDigits) {
  const int64_t n = 4 << 20;
  Numbers numbers(4);
  std::vector<float> v(n);
  double want = 0;
  for (float& x : v) want += x = static_cast<float>(numbers.uniform());
  for (const ReduceShape& s : {ReduceShape{1, n, 1}, ReduceShape{1, n / 4, 4}}) {
    std::vector<double> y(s.inner);
    Workspace space(reduce_kernel().workspace(ReduceOp::sum, s, *f32.format()));
    reduce_kernel().run(ReduceOp::sum, s, {v.data(), f32.format()}, {y.data(), f64.format()}, {}, space.data());
    double sum = 0;
    for (double part : y) sum += part;
    EXPECT_NEAR(sum / want, 1, 1e-7);  // 0.1 added 4 Mi times one by one is off by 1e-2
  }
}

TEST(ReduceKernel, RowsDoNotDependOnTheirNeighbours) {
  Numbers numbers(6);
  const int64_t n = 70001;
  const Array x(f32, numbers.normals(33 * n));
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::argmin}) {
    const DType out = op == ReduceOp::argmin ? i64 : f32;
    const Values all = reduce(op, {33, n, 1}, x, out).values();
    for (int64_t row : {0, 17, 32}) {
      Array one(f32, n);
      std::memcpy(one.bytes.data(), x.bytes.data() + row * n * 4, n * 4);
      EXPECT_EQ(reduce(op, {1, n, 1}, one, out).values()[0], all[row]);
    }
  }
}

TEST(ReduceKernel, SameBitsForAnyThreads) {
  Numbers numbers(5);
  const Array x(f32, numbers.normals(600 * 1000));
  for (const ReduceShape& s : {ReduceShape{1, 600000, 1}, ReduceShape{3, 200000, 1}, ReduceShape{600, 1000, 1},
                               ReduceShape{1, 600, 1000}, ReduceShape{2, 3000, 100}}) {
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::argmax, ReduceOp::logsumexp}) {
      expect_same_bits([&] { return reduce(op, s, x, op == ReduceOp::argmax ? i64 : f32).bytes; }, "reduce");
    }
  }
}

}  // namespace
}  // namespace dyadic::test
