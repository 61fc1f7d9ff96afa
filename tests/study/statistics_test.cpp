// The statistics of a study against hand calculation, tables and simulation.
#include "study/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "dyadic/dyadic.h"
#include "sample_result.h"

namespace dyadic::study {
namespace {

TEST(Statistics, MeanAndStandardError) {
  const Mean m = mean_se(std::vector<double>{1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(m.mean, 2.5);
  EXPECT_DOUBLE_EQ(m.se, std::sqrt(5.0 / 3 / 4));
  EXPECT_EQ(m.n, 4);
  EXPECT_TRUE(std::isnan(mean_se({}).mean));
  const Mean one = mean_se(std::vector<double>{7});
  EXPECT_EQ(one.mean, 7);
  EXPECT_TRUE(std::isnan(one.se));
}

TEST(Statistics, ClustersByHand) {
  // Residuals -2 -2 | 0 0 | 4 (a shorter last window): sums -4, 0, 4; sqrt(32 * 3/2) / 5.
  const std::vector<double> x{1, 1, 3, 3, 7};
  const Mean m = mean_se_clustered(x, 2);
  EXPECT_DOUBLE_EQ(m.mean, 3);
  EXPECT_DOUBLE_EQ(m.se, std::sqrt(48.0) / 5);
  EXPECT_TRUE(std::isnan(mean_se_clustered(x, 5).se));
  EXPECT_DOUBLE_EQ(mean_se_clustered(x, 1).se, mean_se(x).se);
}

TEST(Statistics, StudentsQuantiles) {  // printed tables
  const std::pair<double, double> table[] = {{1, 6.3138}, {2, 2.9200},  {3, 2.3534},  {4, 2.1318},
                                             {5, 2.0150}, {10, 1.8125}, {30, 1.6973}, {120, 1.6577}};
  for (const auto& [df, t] : table) EXPECT_NEAR(student_t95(df), t, df == 3 ? 0.003 : 0.0008) << df;
  EXPECT_DOUBLE_EQ(student_t95(INFINITY), 1.6448536269514722);
}

std::vector<float> constant(size_t n, float v) { return std::vector<float>(n, v); }

TEST(Statistics, IndependentTokensNeedNoWindows) {
  Noise noise;
  std::vector<float> f32, other;
  for (int i = 0; i < 64'000; ++i)
    f32.push_back(float(2 + noise.normal())), other.push_back(f32.back() + float(0.01 + 0.1 * noise.normal()));
  const LossDelta d = compare(f32, other, 64);
  EXPECT_NEAR(d.se_window / d.se_token, 1, 0.1);
  EXPECT_NEAR(d.delta, 0.01, 5 * d.se);
  // Paired: the spread of the losses themselves (a standard error of 0.0028) must not enter.
  EXPECT_LT(d.se, 0.0004);
}

TEST(Statistics, WindowsThatMoveTogetherCountOnce) {
  Noise noise;
  std::vector<float> other;
  for (int w = 0; w < 500; ++w) other.insert(other.end(), 64, float(0.1 * noise.normal()));
  const LossDelta d = compare(constant(other.size(), 0), other, 64);
  EXPECT_EQ(d.se_kind, "window");
  EXPECT_NEAR(d.se_window / d.se_token, 8, 0.5);  // sqrt(64)
  EXPECT_EQ(d.se, d.se_window);
}

// The upper bound must hold the true difference in about 95 of 100 studies, also for correlated tokens and few windows.
TEST(Statistics, BoundCovers) {
  for (const int windows : {12, 200}) {
    Noise noise{42};
    int covered = 0;
    constexpr int kStudies = 2000, kWindow = 8;
    for (int s = 0; s < kStudies; ++s) {
      std::vector<float> other;
      for (int w = 0; w < windows; ++w) {
        const double shared = noise.normal();
        for (int t = 0; t < kWindow; ++t) other.push_back(float(0.3 + 0.1 * shared + 0.1 * noise.normal()));
      }
      covered += compare(constant(other.size(), 0), other, kWindow).upper >= 0.3;
    }
    EXPECT_GT(covered, kStudies * 0.94) << windows;
    EXPECT_LT(covered, kStudies * 0.98) << windows;
  }
}

TEST(Statistics, SeedsAddTheirSpread) {
  const std::vector<float> f32 = constant(100, 2), a = constant(100, 2.01f), b = constant(100, 2.03f), c = constant(100, 2.02f);
  const PairedLosses seeds[] = {{f32, a}, {f32, b}, {f32, c}};
  const LossDelta d = compare(seeds, 10);
  EXPECT_NEAR(d.delta, 0.02, 1e-6);
  EXPECT_EQ(d.se_kind, "seed");
  EXPECT_NEAR(d.se, 0.01 / std::sqrt(3), 1e-6);
  EXPECT_NEAR(d.upper, 0.02 + 2.92 * d.se, 1e-5);
  EXPECT_TRUE(std::isnan(compare(std::span(seeds).first(1), 10).se_seed));
}

TEST(Statistics, SameLossesDifferByNothing) {
  const std::vector<float> x{1, 2, 3, 4};
  const LossDelta d = compare(x, x, 2);
  EXPECT_EQ(d.delta, 0);
  EXPECT_EQ(d.se, 0);
  EXPECT_EQ(d.upper, 0);
}

// None of thirty flipped: 1 - .05^(1/30). Few flips: Tango's bound, by his equation solved by hand (d = 0, q = 1 / 60).
TEST(Statistics, ValuesThatCountHaveABoundByTheirFlips) {
  const std::vector<float> right = constant(30, 1);
  const LossDelta none = compare(right, right, 1);
  EXPECT_EQ(none.delta, 0);
  EXPECT_NEAR(none.upper, 0.09503, 1e-5);
  EXPECT_NEAR(none.se, none.upper / 1.64485, 1e-5);
  EXPECT_EQ(none.se_token, 0);
  EXPECT_NEAR(compare(constant(30, -1), constant(30, -1), 1).upper, none.upper, 1e-12);  // larger is better
  EXPECT_NEAR(compare(constant(60, 1), constant(60, 1), 2).upper, none.upper, 1e-12);    // thirty windows
  EXPECT_NEAR(paired_bound(0, 1, 30), 0.052148, 1e-5);
  EXPECT_NEAR(paired_bound(1, 0, 30), 0.136404, 1e-5);
  EXPECT_NEAR(paired_bound(1, 1, 30), 0.109096, 1e-5);
  // z^2 / n = d^2 / (2 q + d (1 - d)) at its root.
  const double d = paired_bound(3, 1, 100), b = (200 - 3 + 1) * d - 4, c = -d * (1 - d);
  const double q = (std::sqrt(b * b - 800 * c) - b) / 400;
  EXPECT_NEAR((0.02 - d) / std::sqrt((2 * q + d * (1 - d)) / 100), -1.6448536, 1e-6);
  // What does not count has none.
  EXPECT_EQ(compare(constant(30, 0.5f), constant(30, 0.5f), 1).upper, 0);
}

// Also where one in a hundred flips, the bound holds the truth about as often as it says.
TEST(Statistics, BoundOfFlipsCovers) {
  for (const auto& [n, lose, win] : {std::tuple{30, 0.02, 0.0}, {30, 0.08, 0.05}, {100, 0.01, 0.005}, {100, 0.03, 0.02}}) {
    Noise noise{7};
    int covered = 0;
    constexpr int kStudies = 4000;
    for (int s = 0; s < kStudies; ++s) {
      std::vector<float> f32, other;
      for (int i = 0; i < n; ++i) {
        const double u = noise.uniform();
        f32.push_back(u < win ? 1 : 0), other.push_back(u < win + lose && u >= win ? 1 : 0);
      }
      f32.push_back(1), other.push_back(1);
      covered += compare(f32, other, 1).upper >= (lose - win) * n / (n + 1);
    }
    EXPECT_GT(covered, kStudies * 0.935) << n << " " << lose << " " << win;
  }
}

TEST(Statistics, WhatIsNotFiniteIsNotKnown) {
  const std::vector<float> x{1, 2}, bad{1, NAN}, huge{1, INFINITY};
  for (const auto& other : {bad, huge}) {
    const LossDelta d = compare(x, other, 1);
    EXPECT_TRUE(std::isnan(d.delta));
    EXPECT_TRUE(std::isnan(d.upper));
    EXPECT_EQ(d.se_kind, "");
  }
  EXPECT_TRUE(std::isnan(compare({}, {}, 4).delta));
  EXPECT_THROW(compare(x, std::vector<float>{1}, 1), ValueError);
}

TEST(Statistics, Divergence) {
  const auto logs = [](std::vector<double> p, double shift) {
    Tensor t = empty({1, int64_t(p.size())});
    for (size_t i = 0; i < p.size(); ++i) t.data<float>()[i] = float(std::log(p[i]) + shift);
    return t;
  };
  const auto kl = [](const Tensor& x, const Tensor& y) { return kl_divergence(x, y)[0].item(); };
  EXPECT_NEAR(kl(logs({.5, .5}, 3), logs({.25, .75}, -40)), 0.5 * std::log(2) + 0.5 * std::log(2. / 3), 1e-6);
  const Tensor p = logs({.2, .3, .5}, 0);
  EXPECT_EQ(kl(p, p), 0);
  EXPECT_NEAR(kl(logs({1, 0, 1}, 0), logs({1, 5, 1}, 0)), std::log(3.5), 1e-6);  // p = 0 adds nothing
  EXPECT_EQ(kl(tensor({0.0, 0.0}).view({1, 2}), tensor({0.0, -INFINITY}).view({1, 2})), INFINITY);
  EXPECT_TRUE(std::isnan(kl(tensor({0.0, NAN}).view({1, 2}), zeros({1, 2}))));
  EXPECT_TRUE(std::isnan(kl(zeros({1, 2}), tensor({0.0, NAN}).view({1, 2}))));
}

}  // namespace
}  // namespace dyadic::study
