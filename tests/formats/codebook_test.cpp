// The dynamic 8-bit codebooks and bitsandbytes' bounds, packing of nf4, the double quantization written out.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/formats/helpers.h"

namespace dyadic {
namespace {

using testing::decode;
using testing::encode;
using testing::normals;
using testing::on_every_isa;
using testing::round_trip;
using testing::Stored;

// bitsandbytes' create_dynamic_map, in f64.
std::vector<double> dynamic_map(bool is_signed) {
  std::vector<double> all = {0, 1};
  for (int i = 0; i < 7; ++i) {
    const int n = is_signed ? 1 << i : 2 << i;
    for (int j = 0; j < n; ++j) {
      const double low = 0.1 + 0.9 * j / n, high = 0.1 + 0.9 * (j + 1) / n, v = std::pow(10.0, i - 6) * (low + high) / 2;
      all.push_back(v);
      if (is_signed) all.push_back(-v);
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(Codebook, DynamicValues) {
  for (DType dtype : {dynamic8, udynamic8})
    for (const Format& f : on_every_isa(*dtype.format())) {
      const std::vector<double> want = dynamic_map(dtype == dynamic8);
      ASSERT_EQ(want.size(), 256u);
      // Codes 0..255 in one block of absmax 1, decoded by tiles and one by one.
      Stored s = encode(f, std::vector<float>(256, 1.0f), {1, 256});
      for (int c = 0; c < 256; ++c) s.bytes[size_t(c)] = uint8_t(c);
      const std::vector<float> got = decode(f, s, {1, 256}, 0, 256);
      for (size_t c = 0; c < 256; ++c) {
        EXPECT_FLOAT_EQ(got[c], float(want[c]));
        EXPECT_NEAR(got[c], want[c], std::fabs(want[c]) * 0x1.0002p-24) << "not the nearest f32";
        EXPECT_EQ(got[c], float(f.def->decode1(f, c)));
        EXPECT_EQ(f.def->encode1(f, got[c]), c);
        EXPECT_TRUE(c == 0 || got[c - 1] < got[c]);
      }
      EXPECT_EQ(got[255], 1.0f);
      EXPECT_EQ(got[dtype == dynamic8 ? 127 : 0], 0.0f);
    }
  EXPECT_FLOAT_EQ(float(dynamic8.format()->def->decode1(*dynamic8.format(), 0)), -0.992968738079071f);
}

TEST(Codebook, DynamicCodesAreNearest) {
  for (DType dtype : {dynamic8, udynamic8})
    for (const Format& f : on_every_isa(*dtype.format())) {
      const std::vector<double> map = dynamic_map(dtype == dynamic8);
      std::vector<float> x = {1.0f, 0.0f};
      for (size_t c = 0; c + 1 < 256; ++c)  // both sides of every midpoint
        for (double side : {-1e-4, -1e-5, 1e-5, 1e-4})
          x.push_back(float((map[c] + map[c + 1]) / 2 + side * (map[c + 1] - map[c])));
      std::mt19937_64 bits(3);
      for (int i = 0; i < 50000; ++i)
        x.push_back(float(std::pow(10.0, -8.0 * double(bits() >> 11) * 0x1p-53)) * (bits() & 1 && dtype == dynamic8 ? -1 : 1));
      const Format& wide = *DType::parse(std::string(f.def->name) + "(block=1000000)").format();
      const Format here{f.def, wide.params, wide.text, wide.text};
      const std::vector<float> y = round_trip(here, x, {1, int64_t(x.size())});
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t above = size_t(std::lower_bound(map.begin(), map.end(), double(x[i])) - map.begin());
        double best = above < 256 ? map[above] - x[i] : INFINITY, width = best;
        if (above > 0) {
          width = above < 256 ? map[above] - map[above - 1] : 1 - map[254];
          best = std::min(best, x[i] - map[above - 1]);
        }
        ASSERT_LE(std::fabs(double(y[i]) - x[i]), best + width * 0x1p-15 + std::fabs(x[i]) * 0x1p-23) << f.text << " " << x[i];
      }
    }
}

TEST(Codebook, DynamicErrorBounds) {
  const std::vector<float> x = normals(1 << 20, 13);
  const std::vector<float> y = round_trip("dynamic8", x, {1024, 1024});
  double absolute = 0, relative = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double e = std::fabs(double(y[i]) - x[i]);
    absolute += e, relative += e / std::fabs(x[i]);
  }
  EXPECT_LT(absolute / double(x.size()), .011);
  EXPECT_LT(relative / double(x.size()), .018);
  EXPECT_NEAR(absolute / double(x.size()), .00854, .0001);
  EXPECT_NEAR(relative / double(x.size()), .01539, .0003);
}

// bitsandbytes' create_linear_map: linspace(-1, 1, 255) with a second zero behind the 127th value.
TEST(Codebook, Linear) {
  const Format& f = *DType::parse("linear8(block=64)").format();
  std::vector<double> map;
  for (int k = -127; k <= 127; ++k) {
    map.push_back(k / 127.0);
    if (k == 0) map.push_back(0);
  }
  ASSERT_EQ(map.size(), 256u);
  for (uint64_t c = 0; c < 256; ++c) {
    EXPECT_NEAR(f.def->decode1(f, c), map[c], 1e-7) << c;
    if (c != 128) { EXPECT_EQ(f.def->encode1(f, map[c]), c) << c; }
  }
  const std::vector<float> x = normals(64 * 50, 21);
  const std::vector<float> y = testing::round_trip(f, x, {1, int64_t(x.size())});
  for (size_t b = 0; b < x.size(); b += 64) {
    float most = 0;
    for (size_t i = b; i < b + 64; ++i) most = std::max(most, std::fabs(x[i]));
    for (size_t i = b; i < b + 64; ++i) EXPECT_NEAR(y[i], x[i], most / 254 * 1.00001f) << i;
  }
}

TEST(Codebook, UnsignedGivesZeroForNegatives) {
  for (float v : round_trip("udynamic8", {-1.0f, -0.5f, -1e-9f}, {1, 3})) EXPECT_EQ(v, 0.0f);
}

TEST(Codebook, FourBitPacking) {
  const std::vector<float> x = {-1.0f, 1.0f, 0.0f, 0.5626170039176941f, -0.09105003625154495f};
  const Stored s = encode(*DType::parse("nf4(block=64)").format(), x, {1, 5});
  EXPECT_EQ(s.plane(0)[0], 0x0F);  // the first element is the high nibble
  EXPECT_EQ(s.plane(0)[1], 0x7D);
  EXPECT_EQ(s.plane(0)[2], 0x67);
  EXPECT_EQ(s.floats(1)[0], 1.0f);
  // fp4's code order: 0, .0052, 2/3, 1, 1/3, 1/2, 1/6, 1/4, then negative.
  const std::vector<float> y = {0.0f, 0.005208333f, 0.66666667f, 1.0f, 0.33333333f, 0.5f, 0.16666667f, 0.25f, -0.001f, -1.0f};
  const Stored t = encode(*fp4.format(), y, {1, 10});
  const unsigned char want[] = {0x01, 0x23, 0x45, 0x67, 0x8B};
  EXPECT_EQ(std::vector<unsigned char>(t.plane(0), t.plane(0) + 5), std::vector<unsigned char>(want, want + 5));
  // Integers: the first element is the low nibble.
  const Stored u = encode(*DType::parse("i4(row)").format(), {7.0f, -7.0f, 1.0f}, {1, 3});
  EXPECT_EQ(u.plane(0)[0], 0x97);
  EXPECT_EQ(u.plane(0)[1], 0x01);
}

// nf4 with double quantization from its parts: plain nf4's absmaxes, less their mean, as dynamic8.
TEST(Codebook, DoubleQuantizationIsDynamic8OfTheAbsmaxes) {
  const Geometry g{300, 100};
  const std::vector<float> x = normals(g.numel(), 14);
  const Stored plain = encode(*DType::parse("nf4(block=64)").format(), x, g), twice = encode(*nf4.format(), x, g);
  const int64_t blocks = (g.numel() + 63) / 64;
  EXPECT_EQ(std::memcmp(plain.plane(0), twice.plane(0), size_t(plain.planes.plane[0].bytes)), 0);
  std::vector<float> absmax(plain.floats(1), plain.floats(1) + blocks);
  double sum = 0;
  for (float v : absmax) sum += v;
  const float mean = twice.floats(3)[0];
  EXPECT_NEAR(mean, sum / double(blocks), 1e-6);
  for (float& v : absmax) v -= mean;
  const Stored nested = encode(*dynamic8.format(), absmax, {1, blocks});
  EXPECT_EQ(std::memcmp(twice.plane(1), nested.plane(0), size_t(blocks)), 0);
  EXPECT_EQ(std::memcmp(twice.plane(2), nested.plane(1), size_t((blocks + 255) / 256) * 4), 0);
  const std::vector<float> y = decode(*nf4.format(), twice, g, 0, g.numel()),
                           scale = decode(*dynamic8.format(), nested, {1, blocks}, 0, blocks);
  for (int64_t i = 0; i < g.numel(); ++i) {
    const int code = i % 2 ? twice.plane(0)[i / 2] & 15 : twice.plane(0)[i / 2] >> 4;
    ASSERT_EQ(y[size_t(i)], float(nf4.format()->def->decode1(*nf4.format(), uint64_t(code))) * (scale[size_t(i / 64)] + mean))
        << i;
  }
}

}  // namespace
}  // namespace dyadic
