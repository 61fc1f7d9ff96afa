// Small floats with scales (f8 by row and tile, OCP MX, nvfp4) against their definitions, written here once more in double and
// without vectors.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/formats/helpers.h"

namespace dyadic {
namespace {

using testing::decode;
using testing::encode;
using testing::normals;
using testing::on_every_isa;
using testing::Stored;

// The nearest value of a table of magnitudes, ties to the even index; beyond the last the last.
double nearest_in(const std::vector<double>& table, double x) {
  const double size = std::fabs(x);
  size_t best = 0;
  for (size_t i = 1; i < table.size(); ++i) {
    const double d = std::fabs(table[i] - size), e = std::fabs(table[best] - size);
    if (d < e || (d == e && i % 2 == 0)) best = i;
  }
  return std::copysign(table[best], x);
}
std::vector<double> magnitudes(int mantissa_bits, int bias, int count) {
  std::vector<double> t;
  for (int code = 0; code < count; ++code) {
    const int e = code >> mantissa_bits, m = code & ((1 << mantissa_bits) - 1);
    t.push_back(e ? std::ldexp(1 + m / double(1 << mantissa_bits), e - bias) : std::ldexp(m, 1 - bias - mantissa_bits));
  }
  return t;
}
const std::vector<double> kE4m3 = magnitudes(3, 7, 127), kE5m2 = magnitudes(2, 15, 124), kE2m3 = magnitudes(3, 1, 32),
                          kE3m2 = magnitudes(2, 3, 32), kE2m1 = magnitudes(1, 1, 8);
std::vector<double> sixtyfourths() {
  std::vector<double> t;
  for (int i = 0; i < 128; ++i) t.push_back(i / 64.0);
  return t;
}

double absmax(const std::vector<float>& x, Geometry g, int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
  double most = 0;
  for (int64_t r = r0; r < std::min(r1, g.rows); ++r)
    for (int64_t c = c0; c < std::min(c1, g.cols); ++c) most = std::max(most, double(std::fabs(x[size_t(r * g.cols + c)])));
  return most;
}

std::vector<float> spread(int64_t n, uint32_t seed) {  // normal, in blocks of quite different sizes
  std::vector<float> x = normals(n, seed);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= std::ldexp(1.0f, int(i / 40 % 60) - 30);
  return x;
}

struct Mx {
  const char* name;
  std::vector<double> table;
};
TEST(FloatGroups, OcpMx) {
  const Mx kinds[] = {
      {"mxfp8_e4m3", kE4m3}, {"mxfp8_e5m2", kE5m2}, {"mxfp6_e2m3", kE2m3}, {"mxfp6_e3m2", kE3m2}, {"mxint8", sixtyfourths()}};
  const Geometry g{37, 101};
  const std::vector<float> x = spread(g.numel(), 11);
  for (const Mx& kind : kinds) {
    const int top = std::ilogb(kind.table.back());
    for (const Format& f : on_every_isa(*DType::parse(kind.name).format())) {
      const std::vector<float> y = testing::round_trip(f, x, g);
      for (int64_t r = 0; r < g.rows; ++r)
        for (int64_t c = 0; c < g.cols; ++c) {
          const double scale = std::ldexp(1.0, std::ilogb(absmax(x, g, r, r + 1, c / 32 * 32, c / 32 * 32 + 32)) - top);
          const size_t i = size_t(r * g.cols + c);
          ASSERT_EQ(double(y[i]), nearest_in(kind.table, double(x[i]) / scale) * scale) << kind.name << " " << i;
        }
    }
  }
}

TEST(FloatGroups, BitsPerElement) {
  const Geometry g{64, 128};
  const auto bits = [&](const char* name) {
    const Format& f = *DType::parse(name).format();
    return 8.0 * double(f.def->planes(f, g).bytes) / double(g.numel());
  };
  EXPECT_EQ(bits("mxfp8_e4m3"), 8.25);
  EXPECT_EQ(bits("mxfp6_e2m3"), 6.25);
  EXPECT_EQ(bits("mxint8"), 8.25);
  EXPECT_EQ(bits("nvfp4"), 4.5 + 32.0 / double(g.numel()));
  EXPECT_EQ(bits("f8e4m3fn(tile=32x32)"), 8 + 32.0 / 1024);
  EXPECT_EQ(bits("f8e4m3fn(row,scale=f16)"), 8 + 16.0 / 128);
}

TEST(FloatGroups, Nvfp4) {
  const Geometry g{9, 50};
  const std::vector<float> x = normals(g.numel(), 12, 0.02f);
  const float whole = float(absmax(x, g, 0, g.rows, 0, g.cols)) / (6.0f * 448.0f);
  for (const Format& f : on_every_isa(*nvfp4.format())) {
    const Stored s = encode(f, x, g);
    EXPECT_EQ(s.planes.count, 3);
    EXPECT_EQ(s.floats(2)[0], whole);
    const std::vector<float> y = decode(f, s, g, 0, g.numel());
    for (int64_t r = 0; r < g.rows; ++r)
      for (int64_t c = 0; c < g.cols; ++c) {
        const double most = absmax(x, g, r, r + 1, c / 16 * 16, c / 16 * 16 + 16);
        const float scale = float(nearest_in(kE4m3, float(most) / 6.0f / whole)) * whole;
        const size_t i = size_t(r * g.cols + c);
        ASSERT_EQ(y[i], float(nearest_in(kE2m1, double(x[i] * (1.0f / scale)))) * scale) << i;
      }
  }
}

TEST(FloatGroups, RowsTensorsAndTiles) {
  struct Case {
    const char* name;
    int64_t rows, cols;  // of what one scale covers
  };
  const Geometry g{70, 90};
  const std::vector<float> x = normals(g.numel(), 13);
  for (const Case& k : {Case{"f8e4m3fn(row)", 1, 90},
                        {"f8e4m3fn(tensor)", 70, 90},
                        {"f8e4m3fn(tile=16x32)", 16, 32},
                        {"f8e4m3fn(group=30)", 1, 30}})
    for (const Format& f : on_every_isa(*DType::parse(k.name).format())) {
      const std::vector<float> y = testing::round_trip(f, x, g);
      for (int64_t r = 0; r < g.rows; ++r)
        for (int64_t c = 0; c < g.cols; ++c) {
          const int64_t r0 = r / k.rows * k.rows, c0 = c / k.cols * k.cols;
          const float scale = float(absmax(x, g, r0, r0 + k.rows, c0, c0 + k.cols)) / 448.0f;
          const size_t i = size_t(r * g.cols + c);
          ASSERT_EQ(y[i], float(nearest_in(kE4m3, double(x[i] * (1.0f / scale)))) * scale) << k.name << " " << i;
        }
    }
}

TEST(FloatGroups, ExtremeMagnitudes) {
  for (const char* name : {"mxfp8_e4m3", "mxfp6_e3m2", "mxint8", "nvfp4", "f8e4m3fn(row)", "f8e5m2(group=32)"}) {
    const Geometry g{4, 64};
    std::vector<float> x(size_t(g.numel()), 0.0f);
    x[0] = 3.4e38f, x[1] = -1e38f, x[64] = 1e-45f, x[65] = -3e-45f, x[128] = 1e-38f, x[192] = -0.0f;
    const std::vector<float> y = testing::round_trip(*DType::parse(name).format(), x, g);
    for (float v : y) EXPECT_TRUE(std::isfinite(v)) << name;
    EXPECT_NEAR(y[0] / 3.4e38f, 1, 0.5) << name;
    for (size_t i = 193; i < y.size(); ++i) EXPECT_EQ(y[i], 0) << name;
  }
}

}  // namespace
}  // namespace dyadic
