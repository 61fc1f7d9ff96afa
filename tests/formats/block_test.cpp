// What all scaled formats share: ranges, ragged ends, determinism, poison, the scalar oracle, the same bytes everywhere; and
// the published errors of each on normal numbers.
#include <gtest/gtest.h>

#include "tests/formats/helpers.h"

namespace dyadic {
namespace {

using testing::bits_of;
using testing::decode;
using testing::encode;
using testing::normals;
using testing::on_every_isa;
using testing::round_trip;
using testing::Stored;

// These, and every format of GGUF files that can be encoded.
std::vector<std::string> all_names() {
  std::vector<std::string> names = {"nf4",
                                    "nf4(block=64)",
                                    "nf4(block=30)",
                                    "nf4(block=512,double)",
                                    "fp4",
                                    "fp4(double)",
                                    "i8(row)",
                                    "i8(tensor)",
                                    "i8(group=7)",
                                    "i8(row,zero)",
                                    "i4(group=32)",
                                    "i4(row)",
                                    "i4(group=6)",
                                    "i4(tensor,zero)",
                                    "i4(group=64,zero,scale=f16)",
                                    "i4(scale=bf16)",
                                    "dynamic8",
                                    "dynamic8(block=2048)",
                                    "dynamic8(block=3)",
                                    "udynamic8",
                                    "linear8",
                                    "linear8(block=100)",
                                    "i3(group=32)",
                                    "i3(row,zero)",
                                    "i3(group=8,scale=bf16)",
                                    "i2(group=64,zero,scale=f16)",
                                    "i2(row)",
                                    "i2(tensor)",
                                    "f8e4m3fn(row)",
                                    "f8e4m3fn(tensor,scale=bf16)",
                                    "f8e4m3fn(tile=2x16)",
                                    "f8e5m2(group=32,scale=f16)",
                                    "mxfp8_e4m3",
                                    "mxfp8_e5m2",
                                    "mxfp6_e2m3",
                                    "mxfp6_e3m2",
                                    "mxint8",
                                    "nvfp4",
                                    "aqlm(codebooks=3,bits=5,scale=bf16)",
                                    "aqlm(codebooks=1,bits=3)"};
  for (DType d : registered_dtypes())
    if (d.format()->row_step() > 1 && d.format()->can_encode()) names.push_back(d.name());
  return names;
}
const std::vector<std::string> kAll = all_names();
const Geometry kGeometries[] = {{1, 1},  {1, 2},    {3, 1},   {5, 7}, {65, 100}, {2, 257}, {7, 64},
                                {3, 96}, {1, 5000}, {0, 256}, {4, 0}, {3, 256},  {1, 1792}};

TEST(Blocks, AnyRangeDecodesAsTheWhole) {
  for (const std::string& name : kAll)
    for (Geometry g : kGeometries) {
      const Format& f = *DType::parse(name).format();
      if (g.cols % f.row_step()) continue;
      const int64_t n = g.numel();
      const Stored stored = encode(f, normals(n, 1), g);
      const std::vector<float> whole = decode(f, stored, g, 0, n);
      for (int64_t begin = 0; begin <= n; begin += 1 + begin / 3)
        for (int64_t length : {int64_t{0}, int64_t{1}, int64_t{5}, int64_t{32}, int64_t{67}, n - begin}) {
          if (begin + length > n) continue;
          const std::vector<float> part = decode(f, stored, g, begin, begin + length);
          for (int64_t i = 0; i < length; ++i)
            ASSERT_EQ(bits_of(part[size_t(i)]), bits_of(whole[size_t(begin + i)]))
                << name << " " << begin << " " << length << " " << i;
        }
    }
}

TEST(Blocks, StaysInsideItsPlanes) {
  for (const std::string& name : kAll)
    for (Geometry g : kGeometries) {
      const Format& f = *DType::parse(name).format();
      if (g.cols % f.row_step()) continue;
      for (const Format& each : on_every_isa(f)) {
        const Stored s = encode(each, normals(g.numel(), 2), g);
        for (int i = 0; i < s.planes.count; ++i) {
          const Plane& p = s.planes.plane[size_t(i)];
          const int64_t end = i + 1 < s.planes.count ? s.planes.plane[size_t(i) + 1].offset : int64_t(s.bytes.size());
          for (int64_t b = p.offset + p.bytes; b < end; ++b) ASSERT_EQ(s.bytes[size_t(b)], 0xAB) << name << " " << p.name;
        }
      }
    }
}

TEST(Blocks, TheSameBytesOnEveryIsaAndThreadCount) {
  const int before = num_threads();
  for (const std::string& name : kAll) {
    const Format& f = *DType::parse(name).format();
    const Geometry g{130, 1024};
    std::vector<float> x = normals(g.numel(), 4);
    for (size_t i = 0; i < 5000; ++i) x[i] *= std::ldexp(1.0f, int(i % 290) - 160);  // down to subnormals
    x[40000] = NAN, x[60000] = INFINITY, x[60001] = -INFINITY;
    set_num_threads(1);
    const Stored want = encode(f, x, g);
    const std::vector<float> decoded = decode(f, want, g, 0, g.numel());
    for (int threads : {2, 3, 7}) {
      set_num_threads(threads);
      EXPECT_EQ(encode(f, x, g).bytes, want.bytes) << name << " with " << threads << " threads";
    }
    for (const Format& each : on_every_isa(f)) {
      EXPECT_EQ(encode(each, x, g).bytes, want.bytes) << name;
      const std::vector<float> got = decode(each, want, g, 0, g.numel());
      for (size_t i = 0; i < got.size(); ++i)  // a NaN's sign is nobody's promise: compilers turn -1 * x into -x
        ASSERT_TRUE(bits_of(got[i]) == bits_of(decoded[i]) || (std::isnan(got[i]) && std::isnan(decoded[i])))
            << name << " " << i;
    }
  }
  set_num_threads(before);
}

TEST(Blocks, ZerosStayZero) {
  for (const std::string& name : kAll)
    for (const Format& f : on_every_isa(*DType::parse(name).format())) {
      const Geometry g{3, 256};
      for (float v : round_trip(f, std::vector<float>(size_t(g.numel())), g)) ASSERT_EQ(v, 0) << name;
      if (f.row_step() > 1 && f.text != "q8_0" && f.text != "q4_0") continue;  // minima, searches, no value that is 0
      std::vector<float> x = normals(g.numel(), 5);                            // and beside others
      x[10] = 0.0f, x[200] = -0.0f;
      const std::vector<float> y = round_trip(f, x, g);
      ASSERT_EQ(y[10], 0) << name;
      ASSERT_EQ(y[200], 0) << name;
    }
}

// Note [Poisoned blocks] of formats/block/lanes.h. The first block is poisoned; the last row is far enough away.
TEST(Blocks, NanAndInfinityDoNotHide) {
  for (const std::string& name : kAll)
    for (const Format& f : on_every_isa(*DType::parse(name).format())) {
      const Geometry g{f.params.doubled ? 600 : 20, 256};  // scales in groups of 256: more blocks of 512 than those
      const std::vector<float> clean = normals(g.numel(), 6);
      const bool one_scale = f.params.granularity == Granularity::tensor;
      auto starts = [&](const char* text) { return f.text.rfind(text, 0) == 0; };
      const bool blank =
          starts("iq4") || starts("mxfp4") || starts("q1_0") || starts("e8p") || starts("aqlm") ||
          (f.params.scale && !f.params.scale->def->has_inf);  // no infinity, or none beside NaN: the whole block is NaN
      const bool one_sided = starts("q2_K") || starts("q4_1") || starts("q4_K") || starts("q5_1") || starts("q5_K");
      std::vector<float> x = clean;
      x[1] = NAN;
      std::vector<float> y = round_trip(f, x, g);
      EXPECT_TRUE(std::isnan(y[1])) << name;
      EXPECT_TRUE(one_scale || std::fabs(y.back()) < 10) << name;
      for (float infinity : {INFINITY, -INFINITY}) {
        if (f.text[0] == 'u' && infinity < 0) continue;
        x[1] = infinity;
        y = round_trip(f, x, g);
        EXPECT_TRUE(f.params.doubled ? !std::isfinite(y[1]) : blank ? std::isnan(y[1]) : y[1] == infinity) << name << y[1];
        EXPECT_TRUE(std::isnan(y[0])) << name << " " << y[0];
      }
      x[1] = INFINITY, x[2] = -INFINITY;
      y = round_trip(f, x, g);
      if (f.params.doubled || blank || one_sided) {
        EXPECT_TRUE(std::isnan(y[0]) && !std::isfinite(y[1]) && !std::isfinite(y[2])) << name;
      } else {
        EXPECT_EQ(y[1], INFINITY) << name;
        EXPECT_TRUE(f.text[0] == 'u' || y[2] == -INFINITY) << name;
        EXPECT_TRUE(std::isnan(y[0])) << name << " " << y[0];
      }
      EXPECT_TRUE(one_scale || std::fabs(y.back()) < 10) << name;
    }
}

// encode1 and decode1 of normalized values against the tiles: flat formats, one block whose absmax is 1.
TEST(Blocks, TheScalarOracleAgrees) {
  for (const char* name : {"nf4(block=4096)", "fp4(block=4096)", "dynamic8(block=4096)", "udynamic8(block=4096)"}) {
    const Format& f = *DType::parse(name).format();
    std::vector<float> x = normals(4096, 8, 0.3f);
    for (float& v : x) v = std::fmax(-1.0f, std::fmin(1.0f, v));
    for (size_t i = 0; i < 3000; ++i) x[i] *= std::pow(10.0f, -float(i % 9));
    x[0] = 1, x[1] = -1, x[2] = 0, x[3] = -0.0f, x[4] = 0.00260417f, x[5] = -0.00260417f, x[6] = 0.8614784181118011f;
    const Stored s = encode(f, x, {1, 4096});
    const std::vector<float> y = decode(f, s, {1, 4096}, 0, 4096);
    for (size_t i = 0; i < x.size(); ++i) {
      const uint64_t code = f.def->bits == 8 ? s.plane(0)[i] : i % 2 ? s.plane(0)[i / 2] & 15 : s.plane(0)[i / 2] >> 4;
      ASSERT_EQ(f.def->encode1(f, x[i]), code) << name << " " << x[i];
      ASSERT_EQ(float(f.def->decode1(f, code)), y[i]) << name << " " << x[i];
    }
  }
  // Integers: scale 1, by an element of the largest code.
  for (const char* name : {"i8(tensor)", "i4(tensor)", "q8_0"}) {
    const Format& f = *DType::parse(name).format();
    const float top = f.def->bits == 8 ? 127 : 7;
    std::vector<float> x = normals(32, 9, top / 3);
    for (float& v : x) v = std::fmax(-top, std::fmin(top, v));
    x[0] = top, x[1] = 2.5f, x[2] = -2.5f, x[3] = 3.5f;
    const std::vector<float> y = round_trip(f, x, {1, 32});
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(f.def->decode1(f, f.def->encode1(f, x[i])), y[i]) << name << " " << x[i];
  }
  const Format& f = *q4_0.format();
  std::vector<float> x = normals(32, 9, 2);
  for (float& v : x) v = std::fmax(-7.0f, std::fmin(7.0f, v));
  x[0] = -8, x[1] = 7;  // d = 1
  const std::vector<float> y = round_trip(f, x, {1, 32});
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(f.def->decode1(f, f.def->encode1(f, x[i])), y[i]) << x[i];
}

TEST(Blocks, EveryCodeRoundTrips) {
  for (const char* name : {"nf4(block=64)", "fp4", "dynamic8", "udynamic8", "i8(row)", "i4(row)"}) {
    const Format& f = *DType::parse(name).format();
    std::vector<float> x;
    for (uint64_t c = 0; c < (f.def->bits == 8 ? 256u : 16u); ++c) {
      const double v = f.def->decode1(f, c);
      if (std::fabs(v) <= f.def->max) x.push_back(float(v) * 0.5f);
    }
    const std::vector<float> y = round_trip(f, x, {1, int64_t(x.size())});
    for (size_t i = 0; i < x.size(); ++i) EXPECT_FLOAT_EQ(y[i], x[i]) << name;
  }
}

TEST(Blocks, SubnormalBlocksKeepTheirCodes) {
  std::vector<float> x = normals(256, 10);
  for (const char* name : {"nf4(block=64)", "fp4", "dynamic8", "i8(row)", "i4(group=32)", "i4(zero)"}) {
    const std::vector<float> y = round_trip(name, x, {1, 256});
    std::vector<float> small = x;
    for (float& v : small) v = std::ldexp(v, -120);  // exact but for the smallest
    const std::vector<float> z = round_trip(name, small, {1, 256});
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(z[i], std::ldexp(y[i], -120), 0x1p-146) << name << " " << i;
  }
}

struct Errors {
  double mean, mean_error, sqnr;  // of |error|, its standard error, decibels
};
// The standard error is that of means over 4096 elements, whole blocks: errors in a block share its scale and are not
// independent.
Errors errors_of(const std::string& name, const std::vector<float>& x, Geometry g) {
  const std::vector<float> y = round_trip(name, x, g);
  double squares = 0, signal = 0, sum = 0, sum_of_squares = 0;
  const size_t pieces = x.size() / 4096;
  for (size_t p = 0; p < pieces; ++p) {
    double piece = 0;
    for (size_t i = p * 4096; i < (p + 1) * 4096; ++i) {
      const double e = std::fabs(double(y[i]) - x[i]);
      piece += e / 4096, squares += e * e, signal += double(x[i]) * x[i];
    }
    sum += piece, sum_of_squares += piece * piece;
  }
  const double n = double(pieces), mean = sum / n;
  return {mean, std::sqrt((sum_of_squares / n - mean * mean) / n), 10 * std::log10(signal / squares)};
}

// Mean absolute errors on N(0, 1) that bitsandbytes' own tests expect, and those of the other formats at one scale per 64.
TEST(Blocks, PublishedErrors) {
  const Geometry g{1024, 1024};
  const std::vector<float> x = normals(g.numel(), 12);
  const std::pair<const char*, double> mean[] = {
      {"nf4(block=32)", .067746},   {"nf4(block=64)", .072798},  {"nf4(block=128)", .076831}, {"nf4(block=256)", .080337},
      {"nf4(block=4096)", .092547}, {"fp4(block=32)", .088925},  {"fp4(block=64)", .096543},  {"fp4(block=128)", .102969},
      {"fp4(block=256)", .108684},  {"fp4(block=4096)", .129536}};
  for (auto [name, want] : mean) {
    const Errors e = errors_of(name, x, g);
    EXPECT_NEAR(e.mean, want, 3 * e.mean_error + 5e-7) << name;  // the table is rounded to 6 places
    EXPECT_LT(e.mean_error, .006 * want) << name;
  }
  EXPECT_NEAR(errors_of("nf4(block=64)", x, g).sqnr, 20.73, 0.03);
  EXPECT_NEAR(errors_of("fp4(block=64)", x, g).sqnr, 18.28, 0.03);
  // An integer zero point shifts the range by up to half a step, so it lies a little behind the unrounded offset's .0758
  // and 20.95.
  const Errors zero = errors_of("i4(group=64,zero)", x, g);
  EXPECT_TRUE(zero.mean > .0758 && zero.mean < .0800) << zero.mean;
  EXPECT_TRUE(zero.sqnr > 20.73 && zero.sqnr < 20.95) << zero.sqnr;
  EXPECT_NEAR(errors_of("i4(group=64)", x, g).mean, .0915, .0002);
  EXPECT_NEAR(errors_of("i4(group=64)", x, g).sqnr, 19.36, 0.03);
  // Double quantization costs little.
  EXPECT_NEAR(errors_of("nf4", x, g).mean, errors_of("nf4(block=64)", x, g).mean, .0005);
  EXPECT_GT(errors_of("nf4", x, g).mean, errors_of("nf4(block=64)", x, g).mean);
}

}  // namespace
}  // namespace dyadic
