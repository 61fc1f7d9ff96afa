// Matrix products against a sum in f64, for all dtypes, layouts and odd shapes; the same bits for any number of threads.
#include "loops/gemm_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "base/parallel.h"
#include "loops/gemm_bf16.h"
#include "tests/loops/gemm_problem.h"

namespace dyadic {
namespace {

using namespace gemm_testing;

struct Types {
  DType in, out;
};
// The others take the same way whatever the path of bf16.
std::vector<Types> types() {
  if (bf16_path() != Bf16Path::decode) return {{bf16, f32}, {bf16, bf16}};
  return {{f32, f32}, {bf16, f32}, {bf16, bf16}, {f16, f32}, {f16, f16}, {f64, f64}};
}

class Gemm : public ::testing::TestWithParam<Bf16Path> {
 protected:
  const int threads_ = num_threads();
  const Bf16Path path_ = bf16_path();
  void SetUp() override {
    if (!set_bf16_path(GetParam())) GTEST_SKIP() << "this processor lacks the path";
  }
  void TearDown() override {
    set_num_threads(threads_);
    set_bf16_path(path_);
  }
};
std::string path_name(const ::testing::TestParamInfo<Bf16Path>& info) {
  return info.param == Bf16Path::decode ? "decode" : info.param == Bf16Path::dot ? "dot" : "tiles";
}
INSTANTIATE_TEST_SUITE_P(Bf16, Gemm, ::testing::Values(Bf16Path::decode, Bf16Path::dot, Bf16Path::tiles), path_name);

constexpr int64_t kSizes[][3] = {{1, 1, 1},     {1, 7, 5},     {5, 1, 9},      {3, 33, 17},   {4, 65, 100},
                                 {2, 130, 300}, {13, 2, 40},   {7, 5, 3},      {12, 32, 16},  {31, 31, 31},
                                 {65, 63, 129}, {50, 97, 200}, {100, 40, 385}, {29, 64, 1000}};

TEST_P(Gemm, MatchesTheSumInF64) {
  for (const auto& [m, n, k] : kSizes)
    for (const Types t : types())
      for (const Layout a : {Layout::rows, Layout::cols})
        for (const Layout b : {Layout::rows, Layout::cols}) {
          Problem p({.m = m, .n = n, .k = k, .in = t.in, .out = t.out, .a = a, .b = b});
          p.run();
          ASSERT_TRUE(p.check());
        }
}

TEST_P(Gemm, AnyStrides) {
  for (const Types t : types())
    for (const Layout a : {Layout::rows, Layout::both, Layout::reversed, Layout::broadcast})
      for (const Layout b : {Layout::cols, Layout::both, Layout::reversed, Layout::broadcast})
        for (const auto& [m, n, k] : {std::array<int64_t, 3>{3, 50, 40}, {70, 90, 60}, {40, 1, 33}}) {
          Problem p({.m = m, .n = n, .k = k, .in = t.in, .out = t.out, .a = a, .b = b});
          p.run();
          ASSERT_TRUE(p.check());
        }
}

TEST_P(Gemm, BiasAndAccumulate) {
  for (const Types t : types())
    for (const DType bias : {DType(), t.in == f64 ? f64 : f32, t.in == f64 ? f64 : bf16})
      for (const bool accumulate : {false, true})
        for (const auto& [m, n, k] : {std::array<int64_t, 3>{2, 70, 33},
                                      {50, 3, 20},
                                      {45, 77, 450},
                                      {200, 100, 90},
                                      {33, 40, 3000},
                                      {9, 1, 3},
                                      {7, 1, 16}}) {
          Problem p(
              {.m = m, .n = n, .k = k, .in = t.in, .out = t.out, .b = Layout::cols, .bias = bias, .accumulate = accumulate});
          p.run();
          ASSERT_TRUE(p.check());
        }
}

TEST_P(Gemm, EmptySizes) {
  for (const Types t : types())
    for (const bool accumulate : {false, true})
      for (const DType bias : {DType(), t.in == f64 ? f64 : f32})
        for (const auto& [m, n, k] :
             {std::array<int64_t, 3>{0, 5, 4}, {5, 0, 4}, {0, 0, 0}, {5, 40, 0}, {1, 1, 0}, {40, 2, 0}}) {
          Problem p({.m = m, .n = n, .k = k, .in = t.in, .out = t.out, .bias = bias, .accumulate = accumulate});
          p.run();
          ASSERT_TRUE(p.check());
        }
}

TEST_P(Gemm, SameBitsForAnyThreadsAndAlignment) {
  constexpr int64_t sizes[][3] = {{65, 66, 67},   {200, 300, 100}, {1, 3000, 200}, {3, 200, 4000}, {900, 2, 300},
                                  {40, 30, 4200}, {385, 97, 210},  {1, 1, 300000}, {700, 100, 130}};
  for (const auto& [m, n, k] : sizes)
    for (const Types t : types())
      for (const Layout a : {Layout::rows, Layout::cols})
        for (const Layout b : {Layout::rows, Layout::cols}) {
          Problem p({.m = m, .n = n, .k = k, .in = t.in, .out = t.out, .a = a, .b = b, .bias = t.in == f64 ? f64 : f32});
          Problem shifted(
              {.m = m, .n = n, .k = k, .in = t.in, .out = t.out, .a = a, .b = b, .bias = t.in == f64 ? f64 : f32, .shift = 1});
          set_num_threads(1);
          p.run();
          const std::vector<uint8_t> expected(p.out.bytes.begin(), p.out.bytes.end() - Buffer::kGuard);
          for (const int threads : {1, 2, 3, 7}) {
            set_num_threads(threads);
            p.run(threads);  // the workspace's alignment changes too
            ASSERT_EQ(std::memcmp(expected.data(), p.out.bytes.data(), expected.size()), 0)
                << p.name() << ", threads " << threads;
          }
          shifted.run();
          ASSERT_EQ(std::memcmp(expected.data(), shifted.out.data() + t.out.itemsize(), expected.size()), 0)
              << p.name() << " shifted";
        }
}

TEST_P(Gemm, LargeShapes) {  // several tiles in each direction, shared packing, parts of k
  for (const Types t : types())
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{700, 450, 210}, {130, 1000, 600}, {60, 60, 6000}}) {
      Problem p({.m = m, .n = n, .k = k, .in = t.in, .out = t.out, .a = Layout::cols, .b = Layout::cols});
      p.run();
      ASSERT_TRUE(p.check());
    }
}

TEST_P(Gemm, NotANumberAndInfinity) {
  for (const Types t : types())
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{3, 40, 50}, {30, 45, 50}, {70, 70, 400}}) {
      const double inf = std::numeric_limits<double>::infinity();
      Problem p({.m = m, .n = n, .k = k, .in = t.in, .out = t.out});
      write(p.a.data(), t.in, 1 * p.sa.row + 7, std::nan(""));  // row 1
      write(p.a.data(), t.in, 2 * p.sa.row + 8, inf);           // row 2
      for (int64_t j = 0; j < n; ++j) write(p.b.data(), t.in, 8 * p.sb.row + j, j % 3 == 0 ? 0 : j % 3 == 1 ? 1 : -1);
      p.run();
      const int64_t step = n + Problem::kGap;
      for (int64_t j = 0; j < n; ++j) {
        EXPECT_TRUE(std::isfinite(read(p.at.c, t.out, j)));
        EXPECT_TRUE(std::isnan(read(p.at.c, t.out, step + j)));
        const double x = read(p.at.c, t.out, 2 * step + j);
        EXPECT_TRUE(j % 3 == 0 ? std::isnan(x) : x == (j % 3 == 1 ? inf : -inf)) << x;
      }
    }
}

TEST_P(Gemm, Batched) {
  for (const Types t : types())
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{5, 9, 7},
                                  {1, 40, 30},
                                  {33, 70, 50},
                                  {20, 20, 3000},
                                  {3, 1, 3},
                                  {1, 3, 2},
                                  {2, 2, 4},
                                  {2, 4, 5},
                                  {4, 2, 1},
                                  {1, 1, 1}})
      for (const auto& [batch, of_b] : {std::pair<int64_t, int64_t>{0, 1}, {1, 1}, {3, 1}, {50, 1}, {0, 0}, {3, 3}, {50, 50}}) {
        if (batch == 50 && k == 3000) continue;
        Random r(uint64_t(m + batch));
        const auto fill = [&](int64_t count, DType type) {
          Buffer b(size_t(count * type.itemsize()));
          for (int64_t i = 0; i < count; ++i) write(b.data(), type, i, r.uniform());
          return b;
        };
        Buffer a = fill(batch * m * k, t.in), b = fill(of_b * k * n, t.in), c = fill(batch * m * n, t.out);
        const GemmCall one{.m = m, .n = n, .k = k, .a = {t.in, k, 1}, .b = {t.in, n, 1}, .c_dtype = t.out, .c_row_stride = n};
        const BatchedGemm call{one, batch, m * k, of_b == 1 ? 0 : k * n, m * n};  // one b is shared
        const GemmPlan plan = plan_gemm(call);
        Buffer workspace(plan.workspace);
        run_gemm(plan, {a.data(), b.data(), c.data(), nullptr, workspace.data()});
        ASSERT_TRUE(workspace.intact() && c.intact());
        const double eps = t.in == f64 ? 0x1p-53 : 0x1p-24;
        for (int64_t i = 0; i < batch * m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            double sum = 0, size = 0;
            for (int64_t q = 0; q < k; ++q) {
              const double x =
                  read(a.data(), t.in, i * k + q) * read(b.data(), t.in, (of_b == 1 ? 0 : i / m * k * n) + q * n + j);
              sum += x, size += std::fabs(x);
            }
            const double bound = double(2 * k + 2) * eps * size + rounding(t.out, sum);
            ASSERT_LE(std::fabs(read(c.data(), t.out, i * n + j) - sum), bound);
          }
      }
}

TEST_P(Gemm, SeveralThreadsCallTheSameShape) {
  Problem first({.m = 150, .n = 130, .k = 120, .in = bf16, .out = f32, .b = Layout::cols});
  first.run();
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      Problem p({.m = 150, .n = 130, .k = 120, .in = bf16, .out = f32, .b = Layout::cols});
      for (int round = 0; round < 20; ++round) {
        p.run();
        wrong[size_t(i)] += p.out.bytes != first.out.bytes;
      }
    });
  for (std::thread& t : threads) t.join();
  for (const int w : wrong) EXPECT_EQ(w, 0);
}

template <class T> void integers(DType type) {
  using U = std::make_unsigned_t<T>;
  for (const auto& [m, n, k] :
       {std::array<int64_t, 3>{1, 1, 1}, {3, 5, 4}, {5, 3, 4}, {33, 300, 70}, {70, 80, 90}, {4, 4, 5000}, {6, 7, 0}})
    for (const bool transposed : {false, true}) {
      Random r{uint64_t(n)};
      std::vector<T> a(size_t(m * k)), b(size_t(k * n)), c(size_t(m * n), T(7)), bias(size_t(n), T(-3));
      for (T& x : a) x = T((uint64_t(r.next()) << 32) | r.next());  // products overflow: they wrap
      for (T& x : b) x = T((uint64_t(r.next()) << 32) | r.next());
      const GemmCall call{.m = m,
                          .n = n,
                          .k = k,
                          .a = {type, k, 1},
                          .b = {type, transposed ? 1 : n, transposed ? k : 1},
                          .c_dtype = type,
                          .c_row_stride = n,
                          .bias_dtype = type,
                          .accumulate = true};
      const GemmPlan plan = plan_gemm(call);
      Buffer workspace(plan.workspace);
      run_gemm(plan, {a.data(), b.data(), c.data(), bias.data(), workspace.data()});
      EXPECT_TRUE(workspace.intact());
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          U sum = U(4);
          for (int64_t p = 0; p < k; ++p) sum += U(a[size_t(i * k + p)]) * U(b[size_t(transposed ? j * k + p : p * n + j)]);
          ASSERT_EQ(c[size_t(i * n + j)], T(sum)) << m << " " << n << " " << k << " at " << i << ", " << j;
        }
    }
}
TEST(GemmIntegers, Wrap) {
  integers<int32_t>(i32);
  integers<int64_t>(i64);
}

TEST(GemmCalls, AreCounted) {
  const int64_t before = gemm_calls();
  Problem p({.m = 2, .n = 2, .k = 2});
  p.run();
  EXPECT_EQ(gemm_calls(), before + 1);
}

}  // namespace
}  // namespace dyadic
