// Floats of 8 bits and fewer against ml_dtypes and PyTorch (data/make_small_floats.py), on every instruction set; saturation,
// stochastic rounding, no rounding twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "base/sha256.h"
#include "tests/formats/helpers.h"
#include "tests/test_data.h"

namespace dyadic {
namespace {

using testing::bits_of;
using testing::float_of;
using testing::on_every_isa;

std::vector<Format> small_floats() {
  std::vector<Format> all;
  for (DType d : registered_dtypes())
    if (d.is_floating_point() && d.bits() <= 8) all.push_back(*d.format());
  return all;
}
int64_t codes_of(const Format& f) { return int64_t{1} << f.def->bits; }
std::vector<float> decode_all(const Format& f) {
  std::vector<uint8_t> codes(static_cast<size_t>(codes_of(f)));
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = uint8_t(i);
  std::vector<float> values(codes.size());
  f.def->decode(codes.data(), values.data(), codes_of(f));
  return values;
}
std::vector<uint8_t> encode_all(const Format& f, const std::vector<float>& x, const Round& round = {}) {
  std::vector<uint8_t> out(x.size() + 1, 0xA5);
  f.def->encode(x.data(), out.data(), int64_t(x.size()), round);
  EXPECT_EQ(out.back(), 0xA5);
  out.pop_back();
  return out;
}
uint64_t splitmix64(uint64_t i) {
  uint64_t x = (i + 1) * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}
std::vector<float> patterns(const std::string& label) {
  std::vector<float> x;
  if (label == "random") {
    x.resize(10'000'000);
    for (size_t i = 0; i < x.size(); ++i) x[i] = float_of(uint32_t(splitmix64(i)));
    return x;
  }
  const auto lower = uint32_t(std::stoul(label.substr(6), nullptr, 16));
  for (uint32_t upper = 0; upper < 65536; ++upper) x.push_back(float_of(upper << 16 | lower));
  return x;
}

TEST(SmallFloats, EveryCodeDecodesAsInMlDtypes) {
  std::ifstream file(test_data("formats/data/small_floats.bin"), std::ios::binary);
  for (const char* name :
       {"f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz", "f8e3m4", "f8e8m0fnu", "f6e2m3fn", "f6e3m2fn", "f4e2m1fn"}) {
    const Format& format = *DType::parse(name).format();
    std::vector<float> want(static_cast<size_t>(codes_of(format)));
    ASSERT_TRUE(file.read(reinterpret_cast<char*>(want.data()), long(want.size() * 4)));
    for (const Format& f : on_every_isa(format)) {
      const std::vector<float> got = decode_all(f);
      for (size_t c = 0; c < want.size(); ++c) {
        if (std::isnan(want[c])) {
          EXPECT_TRUE(std::isnan(got[c])) << f.text << " " << c;
        } else {
          EXPECT_EQ(bits_of(got[c]), bits_of(want[c])) << f.text << " " << c;
          EXPECT_EQ(f.def->decode1(f, c), double(want[c])) << f.text << " " << c;
          EXPECT_EQ(f.def->encode1(f, double(want[c])), c) << f.text << " " << c;
        }
      }
    }
  }
}

TEST(SmallFloats, EncodeAsPyTorchAndMlDtypes) {
  std::ifstream file(test_data("formats/data/small_floats.txt"));
  std::map<std::string, std::vector<float>> sets;
  std::string name, rule, label, hash;
  int lines = 0;
  while (file >> name >> rule >> label >> hash) {
    if (sets[label].empty()) sets[label] = patterns(label);
    Round round;
    round.overflow = rule == "special" ? Overflow::special : Overflow::standard;
    const Format& format = *DType::parse(name).format();
    const auto isas = label == "random" ? std::vector<Format>{format} : on_every_isa(format);
    for (const Format& f : isas) {
      const std::vector<uint8_t> codes = encode_all(f, sets[label], round);
      EXPECT_EQ(sha256_hex({reinterpret_cast<const char*>(codes.data()), codes.size()}), hash)
          << name << " " << rule << " " << label;
    }
    ++lines;
  }
  EXPECT_GE(lines, 100);
}

// f4e3m0 has no peer: +-{0, 0.25, 0.5, 1, 2, 4, 8, 16}.
TEST(SmallFloats, E3m0) {
  const Format& format = *DType::parse("f4e3m0").format();
  const float table[] = {0, 0.25f, 0.5f, 1, 2, 4, 8, 16};
  for (const Format& f : on_every_isa(format)) {
    const std::vector<float> values = decode_all(f);
    for (size_t c = 0; c < 16; ++c) EXPECT_EQ(bits_of(values[c]), bits_of(c < 8 ? table[c] : -table[c - 8])) << c;
    const std::vector<float> x = {0.125f, 0.1251f, 0.375f, 0.7f, 0.75f, 1.5f, 3, 6, 12, 12.1f, 1e9f, -0.2f, -INFINITY, -0.0f};
    const std::vector<uint8_t> want = {0, 1, 2, 2, 2, 4, 4, 6, 6, 7, 7, 9, 15, 8};
    EXPECT_EQ(encode_all(f, x), want);
  }
}

TEST(SmallFloats, EverySetGivesTheSameCodes) {
  std::vector<float> x = testing::normals(5003, 4, 3);
  for (size_t i = 0; i < 3000; ++i) x.push_back(float_of(uint32_t(splitmix64(i))));
  for (const Format& format : small_floats())
    for (const Overflow overflow : {Overflow::standard, Overflow::saturate, Overflow::special})
      for (const Rounding mode : {Rounding::nearest, Rounding::stochastic}) {
        const Round round{mode, 3, 4, 5, overflow};
        const std::vector<uint8_t> want = encode_all(format, x, round);
        for (const Format& f : on_every_isa(format)) {
          EXPECT_EQ(encode_all(f, x, round), want) << f.text;
          for (size_t n : {0, 1, 7, 33, 64, 65}) {
            const std::vector<uint8_t> part = encode_all(f, {x.begin(), x.begin() + long(n)}, round);
            EXPECT_TRUE(std::equal(part.begin(), part.end(), want.begin())) << f.text << " " << n;
          }
        }
      }
}

TEST(SmallFloats, SaturationKeepsTheLargest) {
  for (const Format& f : small_floats()) {
    const float max = float(f.def->max);
    const std::vector<float> x = {INFINITY, max * 1.9f, max, 3e38f};
    for (const uint8_t code : encode_all(f, x, {Rounding::nearest, 0, 0, 0, Overflow::saturate}))
      EXPECT_EQ(f.def->decode1(f, code), f.def->max) << f.text;
    const std::vector<uint8_t> nan = encode_all(f, {NAN}, {Rounding::nearest, 0, 0, 0, Overflow::saturate});
    if (f.def->has_nan) { EXPECT_TRUE(std::isnan(f.def->decode1(f, nan[0]))) << f.text; }
  }
}

TEST(SmallFloats, StochasticRoundingIsUnbiased) {
  constexpr int kDraws = 1 << 17;
  for (const Format& f : small_floats()) {
    std::vector<double> values;  // the positive numbers, in order
    for (int64_t c = 0; c < codes_of(f); ++c)
      if (const double v = f.def->decode1(f, uint64_t(c)); v >= 0 && std::isfinite(v) && !(v == 0 && c)) values.push_back(v);
    std::sort(values.begin(), values.end());
    for (const size_t i : {size_t{0}, size_t{1}, values.size() / 2, values.size() - 2})
      for (const double part : {0.1, 0.5, 0.73}) {
        const double a = values[i], b = values[i + 1];
        const auto x = float(a + part * (b - a));
        const double p = (double(x) - a) / (b - a);
        int ups = 0;
        for (const uint8_t code : encode_all(f, std::vector<float>(kDraws, x), {Rounding::stochastic, 8, 9, 0})) {
          const double got = f.def->decode1(f, code);
          ASSERT_TRUE(got == a || got == b) << f.text << " " << x << " " << got;
          ups += got == b;
        }
        EXPECT_NEAR(ups / double(kDraws), p, 4 * std::sqrt(p * (1 - p) / kDraws)) << f.text << " " << x;
      }
  }
}

// A double just beside a tie of the target: through f32 to nearest it would become the tie and go the wrong way.
TEST(SmallFloats, DoublesAreRoundedOnce) {
  for (const Format& f : small_floats()) {
    if (f.def->mantissa_bits == 0) continue;
    const double one = 1, next = 1 + f.def->eps, tie = (one + next) / 2;
    for (const double x : {std::nextafter(tie, 0.0), tie, std::nextafter(tie, 9.0)}) {
      uint8_t code = 0;
      convert(*f64.format(), &x, f, &code, 1);
      EXPECT_EQ(f.def->decode1(f, code), x > tie ? next : one) << f.text;
    }
  }
}

TEST(SmallFloats, Limits) {
  for (const Format& f : small_floats()) {
    double max = 0, min = INFINITY;
    bool inf = false, nan = false;
    for (int64_t c = 0; c < codes_of(f); ++c) {
      const double v = f.def->decode1(f, uint64_t(c));
      inf |= std::isinf(v), nan |= std::isnan(v);
      if (std::isfinite(v)) max = std::max(max, v);
      if (v > 0) min = std::min(min, v);
    }
    EXPECT_EQ(f.def->max, max) << f.text;
    EXPECT_EQ(f.def->min_subnormal, min) << f.text;
    EXPECT_EQ(f.def->has_inf, inf) << f.text;
    EXPECT_EQ(f.def->has_nan, nan) << f.text;
    EXPECT_EQ(f.def->bits, (f.def->mantissa_bits + f.def->exponent_bits + (f.text != "f8e8m0fnu"))) << f.text;
  }
}

}  // namespace
}  // namespace dyadic
