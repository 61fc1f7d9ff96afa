// The 4-bit errors that bitsandbytes' own tests expect, against thirty draws of the size they use.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/formats/helpers.h"

namespace dyadic {
namespace {

using testing::normals;
using testing::round_trip;

constexpr int kDraws = 30;
constexpr Geometry kSize{1024, 1024};

TEST(PublishedErrors, FourBitCodebooks) {
  const std::pair<const char*, double> expected[] = {
      {"nf4(block=32)", .067746},   {"nf4(block=64)", .072798},  {"nf4(block=128)", .076831}, {"nf4(block=256)", .080337},
      {"nf4(block=4096)", .092547}, {"fp4(block=32)", .088925},  {"fp4(block=64)", .096543},  {"fp4(block=128)", .102969},
      {"fp4(block=256)", .108684},  {"fp4(block=4096)", .129536}};
  constexpr size_t kFormats = std::size(expected);
  double sum[kFormats] = {}, squares[kFormats] = {};
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::vector<float> x = normals(kSize.numel(), 1000 + uint64_t(draw));
    for (size_t f = 0; f < kFormats; ++f) {
      const std::vector<float> y = round_trip(expected[f].first, x, kSize);
      double error = 0;
      for (size_t i = 0; i < x.size(); ++i) error += std::fabs(double(y[i]) - x[i]);
      error /= double(x.size());
      sum[f] += error, squares[f] += error * error;
    }
  }
  for (size_t f = 0; f < kFormats; ++f) {
    const auto [name, want] = expected[f];
    const double mean = sum[f] / kDraws, deviation = std::sqrt((squares[f] / kDraws - mean * mean) * kDraws / (kDraws - 1));
    EXPECT_NEAR(mean, want, 7 * deviation) << name;
    EXPECT_LT(deviation, .006 * want) << name;  // seven of them still say something: at 4096 a draw has only 256 blocks
  }
}

}  // namespace
}  // namespace dyadic
