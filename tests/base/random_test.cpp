// Philox against its published answers, the vector kernels against the scalar function, and the shape of what they make.
#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "dyadic/error.h"

namespace dyadic {
namespace {

// Known answers of the authors' Random123 1.14, file kat_vectors, philox4x32 with 10 rounds.
TEST(Random, KnownAnswers) {
  auto words = [](PhiloxBlock b) { return std::vector<uint32_t>(b.word, b.word + 4); };
  using W = std::vector<uint32_t>;
  EXPECT_EQ(words(philox(0, 0, 0)), (W{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(words(philox(~0ull, ~0ull, ~0ull)), (W{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(words(philox(0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822)),
            (W{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

constexpr uint64_t kSeed = 0x123456789abcdef, kStream = 0xfedcba987654321;

TEST(Random, KernelIsTheScalarFunction) {
  // Beginnings inside and at the end of blocks, a counter that carries into its high half, lengths below and above one step.
  for (uint64_t begin : {0ull, 1ull, 3ull, 4ull, 6ull, 31ull, (1ull << 34) - 7, (1ull << 34) - 64, ~0ull - 200})
    for (int64_t n : {0, 1, 2, 5, 31, 32, 33, 64, 131}) {
      std::vector<uint32_t> bits(n + 1, 0xabcd);
      std::vector<float> f32(n + 1, -7);
      random_kernel().bits(kSeed, kStream, begin, n, bits.data());
      random_kernel().uniform_f32(kSeed, kStream, begin, n, f32.data());
      for (int64_t i = 0; i < n; i++) {
        uint32_t w = random_word(kSeed, kStream, begin + i);
        ASSERT_EQ(bits[i], w) << begin << " + " << i << " of " << n;
        ASSERT_EQ(f32[i], float(w >> 8) * 0x1p-24f);
      }
      EXPECT_EQ(bits[n], 0xabcdu);
      EXPECT_EQ(f32[n], -7);
      if (begin > 1ull << 62) continue;
      std::vector<double> f64(n + 1, -7);
      random_kernel().uniform_f64(kSeed, kStream, begin, n, f64.data());
      for (int64_t i = 0; i < n; i++) {
        uint64_t w = random_word(kSeed, kStream, 2 * (begin + i)) | uint64_t(random_word(kSeed, kStream, 2 * (begin + i) + 1))
                                                                        << 32;
        ASSERT_EQ(f64[i], double(w >> 11) * 0x1p-53);
      }
      EXPECT_EQ(f64[n], -7);
    }
}

template <class T> void check_normal_cuts(void (*kernel)(uint64_t, uint64_t, uint64_t, int64_t, T*)) {
  std::vector<T> whole(500), part(500);
  kernel(kSeed, kStream, 0, 500, whole.data());
  for (int64_t begin : {0, 1, 2, 3, 5, 17, 32, 100})
    for (int64_t n : {1, 2, 7, 33, 100}) {
      std::fill(part.begin(), part.end(), T(99));
      kernel(kSeed, kStream, begin, n, part.data());
      EXPECT_EQ(0, std::memcmp(part.data(), whole.data() + begin, n * sizeof(T))) << begin << " " << n;
      EXPECT_EQ(part[n], T(99));
    }
}
TEST(Random, NormalsDoNotDependOnTheCut) {
  check_normal_cuts<float>(random_kernel().normal_f32);
  check_normal_cuts<double>(random_kernel().normal_f64);
}

// The same formula in double arithmetic.
TEST(Random, NormalsAreBoxMuller) {
  const int n = 20000;
  std::vector<float> f32(n);
  std::vector<double> f64(n);
  random_kernel().normal_f32(kSeed, kStream, 0, n, f32.data());
  random_kernel().normal_f64(kSeed, kStream, 0, n, f64.data());
  for (int k = 0; k < n / 2; k++) {
    auto check = [&](double radius, double angle, int bits, double z0, double z1, double tolerance) {
      double x = radius * (bits & 1 ? std::sin(angle) : std::cos(angle)),
             y = radius * (bits & 1 ? std::cos(angle) : std::sin(angle));
      ASSERT_NEAR(z0, bits & 4 ? -x : x, tolerance) << k;
      ASSERT_NEAR(z1, bits & 2 ? -y : y, tolerance) << k;
    };
    uint32_t u = random_word(kSeed, kStream, 2 * k), v = random_word(kSeed, kStream, 2 * k + 1);
    check(std::sqrt(-2 * std::log(((u >> 1) + 0.5) * 0x1p-31)), ((v & 0x1fffffff) + 0.5) * 0x1p-29 * M_PI / 4, v >> 29,
          f32[2 * k], f32[2 * k + 1], 3e-6);
    PhiloxBlock b = philox(k, kStream, kSeed);
    uint64_t p = b[0] | uint64_t(b[1]) << 32, q = b[2] | uint64_t(b[3]) << 32;
    check(std::sqrt(-2 * std::log(double(p >> 12) * 0x1p-52 + 0x1p-53)),
          (double((q << 3) >> 12) * 0x1p-52 + 0x1p-53) * M_PI / 4, int(q >> 61), f64[2 * k], f64[2 * k + 1], 1e-14);
  }
}

template <class T> void check_moments(T* x, int64_t n) {
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0, neighbours = 0;
  for (int64_t i = 0; i < n; i++) {
    double v = x[i];
    m1 += v, m2 += v * v, m3 += v * v * v, m4 += v * v * v * v;
    if (i) neighbours += v * x[i - 1];
  }
  double sigma = 1 / std::sqrt(double(n));  // five standard deviations of each estimate
  EXPECT_NEAR(m1 / n, 0, 5 * sigma);
  EXPECT_NEAR(m2 / n, 1, 5 * sigma * std::sqrt(2));
  EXPECT_NEAR(m3 / n, 0, 5 * sigma * std::sqrt(15));
  EXPECT_NEAR(m4 / n, 3, 5 * sigma * std::sqrt(96));
  EXPECT_NEAR(neighbours / n, 0, 5 * sigma);
}
TEST(Random, NormalMoments) {
  const int64_t n = 1 << 20;
  std::vector<float> f32(n);
  std::vector<double> f64(n);
  random_normal(1, 2, n, f32.data());
  random_normal(1, 2, n, f64.data());
  check_moments(f32.data(), n);
  check_moments(f64.data(), n);
  std::vector<int64_t> count(64);  // the distribution function, in 64 equal parts
  for (float v : f32) count[size_t(std::min(63.0, 32 * std::erfc(-v / std::sqrt(2.0))))]++;
  double chi2 = 0, expected = n / 64.0;
  for (int64_t c : count) chi2 += (c - expected) * (c - expected) / expected;
  EXPECT_LT(chi2, 63 + 6 * std::sqrt(2 * 63.0));
  EXPECT_GT(chi2, 63 - 6 * std::sqrt(2 * 63.0));
}

TEST(Random, ThreadsDoNotMatter) {
  const int64_t n = 300001;
  const int before = num_threads();
  std::vector<float> reference(n), x(n);
  set_num_threads(1);
  random_normal(5, 6, n, reference.data());
  for (int threads : {2, 3, 7}) {
    set_num_threads(threads);
    random_normal(5, 6, n, x.data());
    EXPECT_EQ(0, std::memcmp(x.data(), reference.data(), n * sizeof(float))) << threads;
  }
  set_num_threads(before);
}

TEST(Random, SeedsAndStreamsDiffer) {
  std::set<uint32_t> words;
  for (uint64_t a = 0; a < 20; a++)
    for (uint64_t b = 0; b < 20; b++)
      words.insert(random_word(a, b, 0)), words.insert(random_word(a << 32, b << 40, 1ull << 60));
  EXPECT_EQ(words.size(), 800u);
}

TEST(Random, Below) {
  std::vector<int> count(10);
  for (uint64_t i = 0; i < 100000; i++) count[random_below(1, 2, i, 10)]++;
  for (int c : count) EXPECT_NEAR(c, 10000, 6 * std::sqrt(9000));
  EXPECT_EQ(random_below(1, 2, 3, 1), 0u);
  uint64_t large = (1ull << 63) + 1, top = 0;  // every second draw is rejected
  for (uint64_t i = 0; i < 1000; i++) {
    uint64_t v = random_below(1, 2, i, large);
    ASSERT_LT(v, large);
    top = std::max(top, v);
  }
  EXPECT_GT(top, large / 100 * 98);
  EXPECT_THROW(random_below(1, 2, 3, 0), ValueError);
}

}  // namespace
}  // namespace dyadic
