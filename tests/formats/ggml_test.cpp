// The block formats of GGUF files against ggml's reference: the bytes it makes of generated input, the values it reads from
// random bytes (data/make_ggml_hashes.py, the same generators). What the formats share with others is in block_test.cpp.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>

#include "base/check.h"
#include "base/sha256.h"
#include "tests/formats/helpers.h"
#include "tests/test_data.h"

namespace dyadic {
namespace {

using testing::bits_of;
using testing::decode;
using testing::encode;
using testing::on_every_isa;
using testing::Stored;

constexpr int64_t kN = 1 << 14;

uint64_t word(uint64_t seed, int64_t i) {  // splitmix64
  uint64_t z = seed + (uint64_t(i) + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
// Nearly normal: the sum of four 16-bit numbers, exact in f32.
float normal(int64_t i) {
  const uint64_t w = word(1, i);
  const int64_t four = int64_t((w & 0xFFFF) + (w >> 16 & 0xFFFF) + (w >> 32 & 0xFFFF) + (w >> 48));
  return float(double(four - 131070) * 0x1p-15);
}
float uniform(int64_t i) { return float(word(1, i) >> 40) * 0x1p-24f; }
uint64_t chance(int64_t i) { return word(2, i) >> 56; }

const std::map<std::string, std::function<float(int64_t, float)>>& kinds() {
  static const std::map<std::string, std::function<float(int64_t, float)>> all = {
      {"normal", [](int64_t, float x) { return x; }},
      {"uniform", [](int64_t i, float) { return uniform(i) - 0.5f; }},
      {"positive", [](int64_t i, float) { return uniform(i) + 0.5f; }},
      {"negative", [](int64_t, float x) { return -std::fabs(x) - 0.125f; }},
      {"rectified", [](int64_t i, float x) { return x > 0             ? x
                                                    : chance(i) < 128 ? 0.0f
                                                                      : -0.0f; }},
      {"zeros", [](int64_t, float x) { return x > 0 ? 0.0f : -0.0f; }},
      {"constant", [](int64_t i, float) { return i / 512 % 2 == 0 ? 0.7f : -0.7f; }},
      {"outlier", [](int64_t i, float x) { return i % 256 == 77 ? 1000.0f : x * 0x1p-7f; }},
      {"sparse", [](int64_t i, float x) { return chance(i) < 12 ? x : 0.0f; }},
      {"integers", [](int64_t, float x) { return std::trunc(x * 4); }},
      {"mixed", [](int64_t i, float x) { return std::ldexp(x, int(i / 32 % 61) - 40); }},
      {"f16-subnormal", [](int64_t, float x) { return x * 0x1p-15f; }},
      {"small", [](int64_t, float x) { return x * 0x1p-55f; }},
      {"smallest", [](int64_t, float x) { return x * 0x1p-120f; }},
      {"subnormal", [](int64_t, float x) { return std::ldexp(x, -135); }},
      {"large", [](int64_t, float x) { return x * 0x1p20f; }},
      {"squares-overflow", [](int64_t, float x) { return x * 0x1p80f; }},
      {"largest", [](int64_t, float x) { return x * 0x1p125f; }},
  };
  return all;
}
std::vector<float> input(const std::string& kind) {
  std::vector<float> x(kN);
  for (int64_t i = 0; i < kN; ++i) x[size_t(i)] = kinds().at(kind)(i, normal(i));
  return x;
}

struct Line {
  std::string what, format, kind, hash;
};
std::vector<Line> lines() {
  std::ifstream file(test_data("formats/data/ggml_hashes.txt"));
  std::vector<Line> all;
  for (Line l; file >> l.what >> l.format >> l.kind >> l.hash;) all.push_back(l);
  return all;
}
std::string hash(const void* data, int64_t bytes) { return sha256_hex({static_cast<const char*>(data), size_t(bytes)}); }

std::vector<Format> ggml_formats() {
  std::vector<Format> all;
  for (DType d : registered_dtypes())
    if (d.format()->def->block_bytes > 0 && d != e8p) all.push_back(*d.format());
  return all;
}

TEST(Ggml, EncodesAsTheReference) {
  std::map<std::string, int> seen;
  for (const Line& l : lines()) {
    if (l.what != "encode") continue;
    ++seen[l.format];
    const std::vector<float> x = input(l.kind);
    for (const Format& f : on_every_isa(*DType::parse(l.format).format())) {
      const Stored s = encode(f, x, {4, kN / 4});
      EXPECT_EQ(hash(s.plane(0), s.planes.bytes), l.hash) << l.format << " " << l.kind;
    }
  }
  for (const Format& f : ggml_formats()) EXPECT_EQ(seen.contains(f.text), f.can_encode()) << f.text;
}

TEST(Ggml, DecodesAsTheReference) {
  std::map<std::string, int> seen;
  for (const Line& l : lines()) {
    if (l.what != "decode") continue;
    ++seen[l.format];
    for (const Format& f : on_every_isa(*DType::parse(l.format).format())) {
      const Geometry g{2, kN / 2};
      Stored s{f.def->planes(f, g), {}};
      ASSERT_EQ(s.planes.bytes, kN / f.row_step() * f.def->block_bytes);
      for (int64_t i = 0; i < s.planes.bytes; ++i) s.bytes.push_back(uint8_t(word(3, i) >> 56));
      for (int64_t i = 0; l.format == "mxfp4" && i < s.planes.bytes; i += f.def->block_bytes)
        if (s.bytes[size_t(i)] == 255) s.bytes[size_t(i)] = 254;
      std::vector<float> y = decode(f, s, g, 0, kN);
      for (float& v : y)
        if (std::isnan(v)) v = testing::float_of(0x7fc00000);
      EXPECT_EQ(hash(y.data(), kN * 4), l.hash) << l.format;
      for (int64_t begin : {1, 31, 255, 256, 300, 2047}) {  // parts of blocks
        const std::vector<float> part = decode(f, s, g, begin, begin + 333);
        for (size_t i = 0; i < part.size(); ++i)
          ASSERT_TRUE(bits_of(part[i]) == bits_of(y[size_t(begin) + i]) || std::isnan(part[i])) << l.format << begin + int(i);
      }
    }
  }
  for (const Format& f : ggml_formats()) EXPECT_EQ(seen.contains(f.text), true) << f.text;
}

// Decibels above the error on nearly normal input; each bit is worth about 6.
TEST(Ggml, RoundTripError) {
  const std::pair<const char*, double> least[] = {{"q4_0", 20}, {"q4_1", 20},   {"q5_0", 26},   {"q5_1", 26}, {"q8_0", 43},
                                                  {"q2_K", 9},  {"q3_K", 14},   {"q4_K", 21},   {"q5_K", 27}, {"q6_K", 34},
                                                  {"q8_K", 42}, {"iq4_nl", 20}, {"iq4_xs", 20}, {"mxfp4", 18}};
  const std::vector<float> x = input("normal");
  for (auto [name, want] : least) {
    const std::vector<float> y = testing::round_trip(name, x, {1, kN});
    double signal = 0, error = 0;
    for (size_t i = 0; i < x.size(); ++i) signal += double(x[i]) * x[i], error += (double(y[i]) - x[i]) * (double(y[i]) - x[i]);
    const double db = 10 * std::log10(signal / error);
    EXPECT_GT(db, want) << name;
    EXPECT_LT(db, want + 3) << name;
  }
}

// What is already a value of the format comes back as it is: each code of a block whose largest element fixes the scale.
TEST(Ggml, CodesRoundTrip) {
  const std::pair<const char*, std::pair<int, int>> codes[] = {
      {"q4_0", {-8, 7}},  {"q5_0", {-16, 15}}, {"q8_0", {-127, 127}}, {"q8_K", {-127, 127}},
      {"tq1_0", {-1, 1}}, {"tq2_0", {-1, 1}},  {"q2_0", {-1, 1}}};
  for (auto [name, range] : codes) {
    std::vector<float> x(256 * 16);
    for (size_t i = 0; i < x.size(); ++i) {
      const int span = range.second - range.first + 1;
      x[i] = 0.25f * float(i % 32 ? range.first + int(word(5, int64_t(i)) % uint64_t(span)) : range.first);
    }
    const Stored s = encode(*DType::parse(name).format(), x, {4, 1024});
    EXPECT_EQ(decode(*DType::parse(name).format(), s, {4, 1024}, 0, int64_t(x.size())), x) << name;
  }
  // All 16 values of mxfp4, at every scale that f32 holds.
  std::vector<float> x;
  for (int e = -124; e <= 125; ++e)
    for (int i = 0; i < 32; ++i) {
      const double magnitude[] = {6, 0, 0.5, 1, 1.5, 2, 3, 4};
      x.push_back(float(std::ldexp(i % 16 < 8 ? magnitude[i % 8] : -magnitude[i % 8], e)));
    }
  EXPECT_EQ(testing::round_trip("mxfp4", x, {1, int64_t(x.size())}), x);
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const ValueError& e) { return e.what(); }
  return "";
}

TEST(Ggml, SomeAreOnlyDecoded) {
  int decoded_only = 0;
  for (const Format& f : ggml_formats()) {
    if (f.can_encode()) continue;
    ++decoded_only;
    std::vector<float> x(256);
    std::vector<uint8_t> bytes(size_t(f.def->block_bytes));
    EXPECT_EQ(error_of([&] { encode_scaled(f, x.data(), bytes.data(), {1, 256}); }),
              f.text + " cannot be encoded here: its codes come from files; use " + f.def->instead);
    EXPECT_TRUE(DType::parse(f.def->instead).format()->can_encode()) << f.text;
  }
  EXPECT_EQ(decoded_only, 7);
}

TEST(Ggml, RowsAreWholeBlocks) {
  auto planes = [](const char* name, int64_t cols) {
    return error_of([=] {
      const Format& f = *DType::parse(name).format();
      f.def->planes(f, {3, cols});
    });
  };
  EXPECT_EQ(planes("q4_K", 256), "");
  EXPECT_EQ(planes("q4_K", 320), "q4_K: rows are whole blocks of 256: the last dimension is 320; pad it to 512 or pick q4_0");
  EXPECT_EQ(planes("q6_K", 32), "q6_K: rows are whole blocks of 256: the last dimension is 32; pad it to 256 or pick q8_0");
  EXPECT_EQ(planes("q5_1", 100),
            "q5_1: rows are whole blocks of 32: the last dimension is 100; pad it to 128 or pick i8(group=32)");
  EXPECT_EQ(planes("iq2_xs", 1),
            "iq2_xs: rows are whole blocks of 256: the last dimension is 1; pad it to 256 or pick i4(group=32)");
}

}  // namespace
}  // namespace dyadic
