// Sobol's sequence: PyTorch's points, and what makes them even.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "data/sobol.h"
#include "dyadic/dyadic.h"
#include "dyadic/quasirandom.h"

namespace dyadic {
namespace {

using quasirandom::SobolEngine;

TEST(Sobol, PointsArePyTorchs) {
  SobolEngine engine(5);
  const Tensor wanted = tensor({{0., 0., 0., 0., 0.},
                                {0.5, 0.5, 0.5, 0.5, 0.5},
                                {0.75, 0.25, 0.25, 0.25, 0.75},
                                {0.25, 0.75, 0.75, 0.75, 0.25},
                                {0.375, 0.375, 0.625, 0.875, 0.375},
                                {0.875, 0.875, 0.125, 0.375, 0.875}});
  EXPECT_TRUE(equal(engine.draw(6, f64), wanted.to(f64)));
  EXPECT_EQ(engine.num_generated(), 6);
}

TEST(Sobol, DrawnInPartsOrAtOnce) {
  SobolEngine whole(40, true, 3), parts(40, true, 3);
  const Tensor points = whole.draw(37, f64);
  EXPECT_TRUE(equal(cat({parts.draw(1, f64), parts.draw(20, f64), parts.fast_forward(5).draw(11, f64)}),
                    cat({points.slice(0, 0, 21), points.slice(0, 26)})));
  EXPECT_TRUE(equal(parts.reset().draw(37, f64), points));
}

// Of 2^m points each of the 2^m intervals of every coordinate holds one: scrambled or not.
TEST(Sobol, EveryCoordinateIsEven) {
  for (const bool scramble : {false, true}) {
    const int64_t n = 256, dimensions = SobolEngine::kMaxDim;
    SobolEngine engine(dimensions, scramble, 1);
    const std::vector<double> cells = (engine.draw_base2(8, f64) * double(n)).floor().to_vector();
    for (int64_t d = 0; d < dimensions; ++d) {
      std::set<double> seen;
      for (int64_t i = 0; i < n; ++i) seen.insert(cells[size_t(i * dimensions + d)]);
      ASSERT_EQ(seen.size(), size_t(n)) << "dimension " << d;
    }
  }
}

// The integral of a smooth function over 6 dimensions: an error far below that of as many random points (1/64 of the
// deviation).
TEST(Sobol, IntegratesBetterThanRandomPoints) {
  const Tensor x = SobolEngine(6, true, 7).draw_base2(12, f64);
  EXPECT_NEAR(((x - 0.5) * 2 + 1).prod(1).mean().item<double>(), 1.0, 2e-3);
}

TEST(Sobol, MistakesAreNamed) {
  const auto error = [](auto call) -> std::string {
    try {
      call();
    } catch (const Error& e) { return e.what(); }
    return "no error";
  };
  EXPECT_EQ(error([] { SobolEngine engine(1112); }), "SobolEngine: dimension is 1 to 1111: it is 1112");
  SobolEngine engine(2);
  engine.draw(3);
  EXPECT_EQ(error([&] { engine.draw_base2(2); }),
            "SobolEngine.draw_base2: points are even where they are a power of 2 in number: 3 and 2^2 are 7; draw() draws any "
            "number");
  EXPECT_EQ(error([&] { engine.fast_forward(1 << 30); }),
            "SobolEngine: there are 2^30 points, 3 are drawn: no 1073741824 more");
}

}  // namespace
}  // namespace dyadic
