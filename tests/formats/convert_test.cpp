// convert() between all scalar formats: one rounding, truncation, wrapping, any length.
#include <gtest/gtest.h>

#include <limits>

#include "tests/formats/helpers.h"

namespace dyadic {
namespace {

template <class T> std::vector<T> as(DType from, const void* source, DType to, int64_t n, const Round& round = {}) {
  std::vector<T> out(static_cast<size_t>(n));
  convert(*from.format(), source, *to.format(), out.data(), n, round);
  return out;
}
template <class From, class To> To one(DType from, From x, DType to) { return as<To>(from, &x, to, 1)[0]; }

TEST(Convert, F64IsRoundedOnceTo16Bits) {
  for (DType to : {bf16, f16}) {
    const FormatDef& d = *to.format()->def;
    for (double base :
         {1.0, 1.0 + d.eps, 3.0, d.min_normal, 1024 * d.min_subnormal, d.min_subnormal, 3 * d.min_subnormal, d.max}) {
      const double ulp = std::max(std::ldexp(d.eps, std::ilogb(base)), d.min_subnormal), tie = base + ulp / 2;
      const uint64_t low = d.encode1(*to.format(), base), even = low + low % 2;
      for (double sign : {1.0, -1.0}) {
        const uint16_t s = sign < 0 ? 0x8000 : 0;
        // Rounding to f32 first would make ties of both neighbours.
        EXPECT_EQ((one<double, uint16_t>(f64, sign * tie, to)), even | s) << to.name() << " " << base;
        EXPECT_EQ((one<double, uint16_t>(f64, sign * std::nextafter(tie, 0.0), to)), low | s) << to.name() << " " << base;
        EXPECT_EQ((one<double, uint16_t>(f64, sign * std::nextafter(tie, INFINITY), to)), (low + 1) | s)
            << to.name() << " " << base;
      }
    }
    EXPECT_EQ((one<double, uint16_t>(f64, 1e300, to)), d.encode1(*to.format(), INFINITY));
    EXPECT_EQ((one<double, uint16_t>(f64, -INFINITY, to)), d.encode1(*to.format(), -INFINITY));
    EXPECT_EQ((one<double, uint16_t>(f64, 1e-300, to)), 0);
    EXPECT_EQ((one<double, uint16_t>(f64, -0.0, to)), 0x8000);
    EXPECT_TRUE(std::isnan(d.decode1(*to.format(), one<double, uint16_t>(f64, NAN, to))));
  }
}

TEST(Convert, RoundToOddMatchesItsDefinitionOnEveryLane) {
  std::mt19937_64 bits(7);
  std::vector<double> x;
  for (int i = 0; i < 20000; ++i) {
    const int exponent = i % 3 ? int(bits() % 300) - 155 : int(bits() % 4) - 128;
    x.push_back(std::ldexp(double(bits() >> 11) * (bits() & 1 ? 1 : -1), exponent - 52));
  }
  for (double v :
       {0.0, -0.0, 1.0, 0x1p-126, 0x1p-149, 0x1p-150, 0x1.8p-149, 0x1.fffffffp127, 0x1p128, -HUGE_VAL, 0x1.000001p-126})
    x.push_back(v);
  std::vector<float> got(x.size());
  convert_compute(Compute::f64, x.data(), Compute::f32, got.data(), int64_t(x.size()), true);
  for (size_t i = 0; i < x.size(); ++i) {
    const float near = float(x[i]);
    float want = near;
    if (double(near) != x[i] && std::isfinite(near)) {
      const float low = std::fabs(double(near)) > std::fabs(x[i]) ? std::nextafter(near, 0.0f) : near;
      want = testing::float_of(testing::bits_of(low) | 1);
    } else if (std::isinf(near) && std::fabs(x[i]) < 0x1p128) {
      want = std::copysign(std::numeric_limits<float>::max(), near);
    }
    ASSERT_EQ(testing::bits_of(got[i]), testing::bits_of(want)) << std::hexfloat << x[i];
  }
}

TEST(Convert, IntegersAreRoundedOnceTo16Bits) {
  // Just above a tie of f16 or bf16: lost if f32 came to the tie first.
  EXPECT_EQ((one<int64_t, uint16_t>(i64, (int64_t{1} << 40) + (int64_t{1} << 32) + 1, bf16)),
            (one<float, uint16_t>(f32, 0x1.02p40f, bf16)));
  EXPECT_EQ((one<int64_t, uint16_t>(i64, (int64_t{1} << 40) + (int64_t{1} << 32), bf16)),
            (one<float, uint16_t>(f32, 0x1p40f, bf16)));
  EXPECT_EQ((one<int64_t, uint16_t>(i64, -((int64_t{1} << 62) + (int64_t{1} << 54) + 1), bf16)),
            (one<float, uint16_t>(f32, -0x1.02p62f, bf16)));
  EXPECT_EQ((one<int32_t, uint16_t>(i32, (1 << 30) + (1 << 22) + 1, bf16)), (one<float, uint16_t>(f32, 0x1.02p30f, bf16)));
  EXPECT_EQ((one<int32_t, uint16_t>(i32, (1 << 30) + (1 << 22), bf16)), (one<float, uint16_t>(f32, 0x1p30f, bf16)));
  EXPECT_EQ((one<int64_t, float>(i64, (int64_t{1} << 25) + 3, f32)), 33554436.0f);
  EXPECT_EQ((one<int64_t, uint16_t>(i64, 70000, f16)), 0x7c00);
  EXPECT_EQ((one<int64_t, uint16_t>(i64, std::numeric_limits<int64_t>::min(), bf16)),
            (one<float, uint16_t>(f32, -0x1p63f, bf16)));
}

TEST(Convert, FloatsTruncateToIntegers) {
  for (float x : {1.9f, -1.9f, 0.0f, -0.5f, 127.99f}) {
    EXPECT_EQ((one<float, int32_t>(f32, x, i32)), int32_t(x));
    EXPECT_EQ((one<float, int64_t>(f32, x, i64)), int64_t(x));
    EXPECT_EQ((one<double, int8_t>(f64, x, i8)), int8_t(x));
  }
  for (float x : {NAN, INFINITY, -INFINITY, 1e30f, -1e30f}) {
    EXPECT_EQ((one<float, int32_t>(f32, x, i32)), INT32_MIN) << x;
    EXPECT_EQ((one<float, int64_t>(f32, x, i64)), INT64_MIN) << x;
    EXPECT_EQ((one<double, int64_t>(f64, x, i64)), INT64_MIN) << x;
    EXPECT_EQ((one<float, uint8_t>(f32, x, u8)), 0) << x;
    EXPECT_EQ((one<double, int16_t>(f64, x, i16)), 0) << x;
  }
  EXPECT_EQ((one<double, int32_t>(f64, -2147483648.9, i32)), INT32_MIN);
  EXPECT_EQ((one<double, int32_t>(f64, 2147483647.9, i32)), INT32_MAX);
  EXPECT_EQ((one<float, uint8_t>(f32, 300.0f, u8)), 44);
  EXPECT_EQ((one<float, uint8_t>(f32, -1.0f, u8)), 255);
  EXPECT_EQ((one<double, int8_t>(f64, 4294967296.0 + 5, i8)), 5);
  EXPECT_EQ((one<float, int16_t>(f32, 0x1.8p33f, i16)), 0);
  const uint16_t three = 0x4210;  // 3.03 in f16
  EXPECT_EQ((one<uint16_t, int8_t>(f16, three, i8)), 3);
}

TEST(Convert, BoolIsNotZero) {
  EXPECT_EQ((one<float, uint8_t>(f32, 0.25f, boolean)), 1);
  EXPECT_EQ((one<float, uint8_t>(f32, NAN, boolean)), 1);
  EXPECT_EQ((one<float, uint8_t>(f32, -0.0f, boolean)), 0);
  EXPECT_EQ((one<double, uint8_t>(f64, 1e-320, boolean)), 1);
  EXPECT_EQ((one<int64_t, uint8_t>(i64, int64_t{1} << 32, boolean)), 1);
  EXPECT_EQ((one<uint8_t, uint8_t>(u8, 0, boolean)), 0);
  EXPECT_EQ((one<uint8_t, uint8_t>(u8, 7, boolean)), 1);
  EXPECT_EQ((one<uint8_t, float>(boolean, 7, f32)), 1.0f);
}

TEST(Convert, EveryPairAndLength) {
  const DType all[] = {f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean};
  for (int64_t n : {0, 1, 7, 1023, 1024, 2500}) {
    std::vector<float> values(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) values[size_t(i)] = float(i * 37 % 101);  // fit every format but bool
    for (DType a : all)
      for (DType b : all) {
        std::vector<char> source(size_t(n) * 8 + 8), target(size_t(n) * 8 + 8, 'x');
        convert(*f32.format(), values.data(), *a.format(), source.data(), n);
        convert(*a.format(), source.data(), *b.format(), target.data(), n);
        ASSERT_EQ(target[size_t(n * b.itemsize())], 'x') << a.name() << " " << b.name();
        const std::vector<double> got = as<double>(b, target.data(), f64, n);
        for (int64_t i = 0; i < n; ++i) {
          const double v = values[size_t(i)], want = a == boolean || b == boolean ? v != 0 : v;
          ASSERT_EQ(got[size_t(i)], want) << a.name() << " " << b.name() << " " << i;
        }
      }
  }
}

TEST(Convert, StochasticRoundingFollowsTheIndexThroughTiles) {
  const std::vector<float> x = testing::normals(5000, 11);
  std::vector<double> wide(x.begin(), x.end());
  const Round round{Rounding::stochastic, 1, 2, 77};
  const std::vector<uint16_t> direct = as<uint16_t>(f32, x.data(), bf16, 5000, round);
  EXPECT_EQ(as<uint16_t>(f64, wide.data(), bf16, 5000, round), direct);
  EXPECT_NE(as<uint16_t>(f32, x.data(), bf16, 5000), direct);
}

TEST(Convert, ComputeTypes) {
  const int64_t wide[] = {INT64_MAX, -1, int64_t{1} << 40};
  int32_t low[3];
  double d[3];
  convert_compute(Compute::i64, wide, Compute::i32, low, 3);
  convert_compute(Compute::i64, wide, Compute::f64, d, 3);
  EXPECT_EQ(low[0], -1);
  EXPECT_EQ(low[1], -1);
  EXPECT_EQ(low[2], 0);
  EXPECT_EQ(d[0], 0x1p63);
  EXPECT_EQ(&compute_format(Compute::i32), i32.format());
  EXPECT_EQ(compute_size(Compute::i64), 8);
}

}  // namespace
}  // namespace dyadic
