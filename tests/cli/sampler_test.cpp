// Choosing a token: shares, cuts, ties, broken logits.
#include "cli/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "dyadic/error.h"

namespace dyadic::cli {
namespace {

constexpr float kInf = INFINITY;

// How often each token is chosen over evenly spaced uniforms.
std::vector<double> shares(const std::vector<float>& logits, const Sampling& how) {
  constexpr int kDraws = 10'000;
  std::vector<double> n(logits.size());
  for (int i = 0; i < kDraws; ++i) n[size_t(sample_token(logits, how, (i + 0.5) / kDraws))] += 1.0 / kDraws;
  return n;
}
void expect_shares(const std::vector<float>& logits, const Sampling& how, const std::vector<double>& wanted) {
  std::vector<double> got = shares(logits, how);
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-3) << i;
}

const std::vector<float> kTenths = {std::log(.1f), std::log(.4f), std::log(.2f), std::log(.3f)};

TEST(Sampler, FollowsTheSoftmax) {
  expect_shares(kTenths, {}, {.1, .4, .2, .3});
  expect_shares(kTenths, {.temperature = 0.5}, {.01 / .3, .16 / .3, .04 / .3, .09 / .3});
  expect_shares({1000, 1000}, {}, {.5, .5});
}

TEST(Sampler, CutsTheTail) {
  expect_shares(kTenths, {.top_k = 2}, {0, 4. / 7, 0, 3. / 7});
  expect_shares(kTenths, {.top_k = 9}, {.1, .4, .2, .3});
  expect_shares(kTenths, {.top_p = .65}, {0, 4. / 7, 0, 3. / 7});  // .4 + .3 are the first to reach it
  expect_shares(kTenths, {.top_p = .75}, {0, 4. / 9, 2. / 9, 3. / 9});
  expect_shares(kTenths, {.top_p = 0}, {0, 1, 0, 0});               // the likeliest is always kept
  expect_shares(kTenths, {.top_k = 2, .top_p = .5}, {0, 1, 0, 0});  // 4/7 of what top_k left
}

TEST(Sampler, TiesAndExtremes) {
  EXPECT_EQ(sample_token(std::vector<float>{1, 3, 3}, {.temperature = 0}, 0.99), 1);
  EXPECT_EQ(sample_token(std::vector<float>{1, 3, 3}, {.top_k = 1}, 0.99), 1);
  EXPECT_EQ(sample_token(std::vector<float>{NAN, -kInf, -5, kInf}, {}, 0.5), 2);
  EXPECT_EQ(sample_token(std::vector<float>{0, 1e30f}, {.temperature = 1e-6}, 0.999), 1);
  EXPECT_EQ(sample_token(std::vector<float>{0, 0, 0}, {}, std::nextafter(1.0, 0.0)), 2);
  EXPECT_THROW(sample_token(std::vector<float>{NAN, kInf}, {}, 0.5), Error);
  EXPECT_THROW(sample_token(std::vector<float>{}, {.temperature = 0}, 0.5), Error);
}

}  // namespace
}  // namespace dyadic::cli
