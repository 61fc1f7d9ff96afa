// Vec, Mask and Lane against plain loops; partial loads and stores at the edge of a page.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "tests/base/vec_kernel.h"

namespace dyadic {
namespace {

template <class T> const VecEntry<T>& entry() {
  if constexpr (sizeof(T) == 4)
    return vec_kernel().f32;
  else
    return vec_kernel().f64;
}
template <class T> class VecTest : public ::testing::Test {
 protected:
  // Every pair of values that behave differently, a vector at a time.
  static void pairs(const std::function<void(const T* a, const T* b)>& f) {
    using L = std::numeric_limits<T>;
    const std::vector<T> v = {0,       -T(0), 1, -1, T(2.5), L::infinity(), -L::infinity(), L::quiet_NaN(), L::denorm_min(),
                              L::max()};
    std::mt19937 random(1);
    std::vector<T> a, b;
    for (T x : v)
      for (T y : v) a.push_back(x), b.push_back(y);
    for (int i = 0; i < 28; i++) a.push_back(v[random() % v.size()]), b.push_back(T(int(random() % 9)) - 4);
    const size_t n = size_t(entry<T>().lanes);
    for (size_t i = 0; i + n <= a.size(); i += n) f(a.data() + i, b.data() + i);
  }
};
using Floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(VecTest, Floats);

template <class T> void expect_same(T got, T want) {
  if (std::isnan(want))
    EXPECT_TRUE(std::isnan(got)) << got;
  else
    EXPECT_EQ(got, want);
}

TYPED_TEST(VecTest, Arithmetic) {
  using T = TypeParam;
  const auto& e = entry<T>();
  const int64_t n = e.lanes;
  this->pairs([&](const T* a, const T* b) {
    std::vector<T> out(n);
    e.minimum(a, b, out.data());
    for (int64_t i = 0; i < n; i++) expect_same(out[i], std::isnan(a[i]) || std::isnan(b[i]) ? T(NAN) : std::min(a[i], b[i]));
    e.maximum(a, b, out.data());
    for (int64_t i = 0; i < n; i++) expect_same(out[i], std::isnan(a[i]) || std::isnan(b[i]) ? T(NAN) : std::max(a[i], b[i]));
    e.copy_sign(a, b, out.data());
    for (int64_t i = 0; i < n; i++) {
      expect_same(out[i], std::copysign(a[i], b[i]));
      EXPECT_EQ(std::signbit(out[i]), std::signbit(b[i]));
    }
    e.negate(a, out.data());
    for (int64_t i = 0; i < n; i++) EXPECT_NE(std::signbit(out[i]), std::signbit(a[i]));
    e.with_scalars(a, out.data());
    for (int64_t i = 0; i < n; i++) expect_same(out[i], T((a[i] > T(0.5) ? 2 * a[i] - 1 : T(7)) / 4 + 1 - 1));
    e.fused(a, b, b, out.data());
    for (int64_t i = 0; i < n; i++)
      expect_same(out[i], isa() == Isa::sse4 ? T(a[i] * b[i]) + b[i] : std::fma(a[i], b[i], b[i]));
  });
}

TYPED_TEST(VecTest, Comparisons) {
  using T = TypeParam;
  const auto& e = entry<T>();
  const int64_t n = e.lanes;
  this->pairs([&](const T* a, const T* b) {
    std::vector<uint8_t> out(6 * n + 1, 0xee);
    e.compare(a, b, out.data());
    for (int64_t i = 0; i < n; i++) {
      const bool want[6] = {a[i]<b[i], a[i] <= b[i], a[i]> b[i], a[i] >= b[i], a[i] == b[i], a[i] != b[i]};
      for (int k = 0; k < 6; k++) EXPECT_EQ(out[k * n + i], want[k]) << k << ": " << a[i] << " " << b[i];
    }
    EXPECT_EQ(out[6 * n], 0xee);
    e.classify(a, out.data());
    for (int64_t i = 0; i < n; i++) {
      EXPECT_EQ(out[i], std::isnan(a[i]));
      EXPECT_EQ(out[n + i], std::isinf(a[i]));
      EXPECT_EQ(out[2 * n + i], std::isfinite(a[i]));
      EXPECT_EQ(out[3 * n + i], std::signbit(a[i]));
    }
  });
}

TYPED_TEST(VecTest, MaskLogic) {
  using T = TypeParam;
  const auto& e = entry<T>();
  const int64_t n = e.lanes;
  std::mt19937 random(1);
  for (int round = 0; round < 200; round++) {
    std::vector<uint8_t> a(n), b(n), out(4 * n + 3);
    int set = 0;
    for (int64_t i = 0; i < n; i++) {
      a[i] = round == 0 ? 0 : round == 1 ? 1 : random() % 2, b[i] = random() % 2;
      set += a[i];
    }
    e.logic(a.data(), b.data(), out.data());
    for (int64_t i = 0; i < n; i++) {
      EXPECT_EQ(out[i], a[i] & b[i]);
      EXPECT_EQ(out[n + i], a[i] | b[i]);
      EXPECT_EQ(out[2 * n + i], a[i] ^ b[i]);
      EXPECT_EQ(out[3 * n + i], !a[i]);
    }
    EXPECT_EQ(out[4 * n], set > 0);
    EXPECT_EQ(out[4 * n + 1], set == n);
    EXPECT_EQ(out[4 * n + 2], set);
  }
}

TYPED_TEST(VecTest, PartsTouchNothingBeyond) {
  using T = TypeParam;
  const auto& e = entry<T>();
  const size_t page = size_t(sysconf(_SC_PAGESIZE));
  auto* memory = static_cast<char*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  mprotect(memory + page, page, PROT_NONE);      // behind the input
  mprotect(memory + 3 * page, page, PROT_NONE);  // behind the output
  for (size_t n = 0; n < size_t(e.lanes); n++) {
    T* in = reinterpret_cast<T*>(memory + page) - n;
    T* out = reinterpret_cast<T*>(memory + 3 * page) - n;
    out[-1] = T(-5);
    for (size_t i = 0; i < n; i++) in[i] = T(i % 2 ? i + 1 : -3.0), out[i] = 0;
    e.copy_n(in, out, n);
    for (size_t i = 0; i < n; i++) EXPECT_EQ(out[i], in[i]);
    EXPECT_EQ(out[-1], T(-5));
    std::vector<uint8_t> bytes(n + 1, 0xee);
    e.mask_n(in, bytes.data(), n);
    for (size_t i = 0; i < n; i++) EXPECT_EQ(bytes[i], i % 2);
    EXPECT_EQ(bytes[n], 0xee);
  }
  munmap(memory, 4 * page);
}

TYPED_TEST(VecTest, Reductions) {
  using T = TypeParam;
  const auto& e = entry<T>();
  const size_t n = size_t(e.lanes);
  std::mt19937 random(1);
  for (int round = 0; round < 100; round++) {
    std::vector<T> a(n);
    for (T& v : a) v = T(std::ldexp(double(int(random() % 2001)) - 1000, int(random() % 40)));
    std::vector<T> tree = a;  // lane i with lane i + n/2
    for (size_t half = n / 2; half; half /= 2)
      for (size_t i = 0; i < half; i++) tree[i] += tree[i + half];
    EXPECT_EQ(e.sum(a.data()), tree[0]);
    EXPECT_EQ(e.largest(a.data()), *std::max_element(a.begin(), a.end()));
    EXPECT_EQ(e.smallest(a.data()), *std::min_element(a.begin(), a.end()));
    a[random() % n] = T(NAN);
    EXPECT_TRUE(std::isnan(e.largest(a.data())));
    EXPECT_TRUE(std::isnan(e.smallest(a.data())));
  }
}

TEST(Vec, WidenNarrow) {
  const size_t n = size_t(vec_kernel().f32.lanes);
  std::vector<float> a(n), b(n);
  for (size_t i = 0; i < n; i++) a[i] = float(i) * 1.25f - 3;
  vec_kernel().round_trip(a.data(), b.data());
  EXPECT_EQ(a, b);
}

// What each operation must give, in 128-bit arithmetic, wrapped to T.
template <class T> T expected(int op, T x, T y) {
  using W = __int128;
  const W a = x, b = y;
  const int bits = 8 * sizeof(T);
  const bool beyond = b < 0 || b >= bits;
  const W trunc = b == 0 ? W(0) : a / b;
  const W floor = b == 0 ? W(0) : trunc - (a % b != 0 && (a < 0) != (b < 0));
  switch (op) {
    case 0:
      return T(a + b);
    case 1:
      return T(a - b);
    case 2:
      return T(a * b);
    case 3:
      return x & y;
    case 4:
      return x | y;
    case 5:
      return x ^ y;
    case 6:
      return beyond ? T(0) : T(a << int(b));
    case 7:
      return beyond ? T(a < 0 ? -1 : 0) : T(a >> int(b));
    case 8:
      return std::min(x, y);
    case 9:
      return std::max(x, y);
    case 10:
      return T(trunc);
    case 11:
      return T(floor);
    case 12:
      return b == 0 ? T(0) : T(a - floor * b);
    case 13:
      return x < y;
    case 14:
      return x <= y;
    case 15:
      return x > y;
    case 16:
      return x >= y;
    case 17:
      return x == y;
    default:
      return x != y && !(x > 5) && (y < 5 || y > 9) ? x : T(2 * b);
  }
}
template <class T> void check_lanes(const LaneEntry<T>& e) {
  using L = std::numeric_limits<T>;
  std::vector<T> values = {0,     1,     2,    3, 7, 31, 32, 63, 64, 100, L::max(), T(L::max() - 1), L::min(), T(L::min() + 1),
                           T(-1), T(-2), T(-7)};
  std::mt19937_64 random(1);
  for (int i = 0; i < 20; i++) values.push_back(T(random() >> (random() % 64)));
  std::vector<T> a, b;
  for (T x : values)
    for (T y : values) a.push_back(x), b.push_back(y);
  for (int i = 0; i < 20000; i++) {  // quotients that are nearly whole
    using U = std::make_unsigned_t<T>;
    const T y = T(random()) >> (random() % L::digits);
    a.push_back(T(U(U(y) * U(random() >> (random() % 64))) + U(random() % 3) - 1));
    b.push_back(y);
  }
  std::vector<T> out(a.size());
  for (int op = 0; op <= 18; op++) {
    e.binary(a.data(), b.data(), out.data(), int64_t(a.size()), op);
    for (size_t i = 0; i < a.size(); i++)
      ASSERT_EQ(out[i], expected<T>(op, a[i], b[i])) << "op " << op << ": " << +a[i] << ", " << +b[i];
  }
  for (int op = 0; op < 4; op++) {
    e.unary(a.data(), out.data(), int64_t(a.size()), op);
    for (size_t i = 0; i < a.size(); i++) {
      const __int128 x = a[i];
      const T want[4] = {T(-x), T(~x), T(x < 0 ? -x : x), T((x > 0) - (x < 0))};
      ASSERT_EQ(out[i], want[op]) << "op " << op << ": " << +a[i];
    }
  }
}
TEST(Lane, I32) { check_lanes(vec_kernel().i32); }
TEST(Lane, I64) { check_lanes(vec_kernel().i64); }
TEST(Lane, I8) { check_lanes(vec_kernel().i8); }
TEST(Lane, U8) { check_lanes(vec_kernel().u8); }

}  // namespace
}  // namespace dyadic
