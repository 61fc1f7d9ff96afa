// Sums of codebooks' words against their definition, the search against all sums, and what rounding to nearest loses.
#include <gtest/gtest.h>

#include "dyadic/error.h"
#include "tests/formats/helpers.h"

namespace dyadic {
namespace {

using testing::decode;
using testing::encode;
using testing::normals;
using testing::on_every_isa;
using testing::Stored;

const Format& format(const std::string& text) { return *DType::parse(text).format(); }

// A few f16 by their bits: of 1, 2 and 4 sixteenths there are exact ones.
uint16_t sixteenths(int n) {
  uint16_t exponent = 15, mantissa = 0;
  if (n == 0) return 0;
  const int size = n < 0 ? -n : n;
  int top = 0;
  while (size >> (top + 1)) ++top;
  exponent = uint16_t(15 + top - 4), mantissa = uint16_t((size << (10 - top)) & 1023);
  return uint16_t((n < 0) << 15 | exponent << 10 | mantissa);
}

// Codes, scales and codebooks written by hand; values are whole sixteenths, so nothing is rounded.
TEST(Aqlm, VectorsAreSumsOfWords) {
  const Geometry g{3, 40};
  for (int books : {1, 2, 3, 4})
    for (int bits : {1, 3, 5, 8}) {
      const Format& f = format("aqlm(codebooks=" + std::to_string(books) + ",bits=" + std::to_string(bits) + ")");
      Stored s = encode(f, std::vector<float>(size_t(g.numel()), 1.0f), g);
      ASSERT_EQ(s.planes.count, 3);
      const int words = 1 << bits, pitch = (5 * books * bits + 7) / 8;
      ASSERT_EQ(s.planes.plane[0].bytes, 3 * pitch);
      ASSERT_EQ(s.planes.plane[1].bytes, 3 * 4);
      ASSERT_EQ(s.planes.plane[2].bytes, books * words * 16);
      const auto value = [&](int book, int word, int k) { return (word * 7 + book * 31 + k * 13) % 97 - 48; };
      const auto code = [&](int row, int v, int book) { return (row * 101 + v * 57 + book * 33 + 5) % words; };
      auto* codes = s.bytes.data();
      std::memset(codes, 0, size_t(3 * pitch));
      for (int row = 0; row < 3; ++row) {
        const float scale = float(row) - 0.5f;
        std::memcpy(s.bytes.data() + s.planes.plane[1].offset + row * 4, &scale, 4);
        for (int v = 0; v < 5; ++v)
          for (int b = 0; b < books; ++b)
            for (int i = 0; i < bits; ++i) {
              const int at = (v * books + b) * bits + i;
              codes[row * pitch + at / 8] |= uint8_t((code(row, v, b) >> i & 1) << (at % 8));
            }
      }
      for (int b = 0; b < books; ++b)
        for (int w = 0; w < words; ++w)
          for (int k = 0; k < 8; ++k) {
            const uint16_t half = sixteenths(value(b, w, k));
            std::memcpy(s.bytes.data() + s.planes.plane[2].offset + ((b * words + w) * 8 + k) * 2, &half, 2);
          }
      for (const Format& each : on_every_isa(f)) {
        const std::vector<float> y = decode(each, s, g, 0, g.numel());
        for (int row = 0; row < 3; ++row)
          for (int c = 0; c < 40; ++c) {
            int sum = 0;
            for (int b = 0; b < books; ++b) sum += value(b, code(row, c / 8, b), c % 8);
            ASSERT_EQ(y[size_t(row * 40 + c)], (float(row) - 0.5f) * float(sum) / 16) << f.text << " " << row << " " << c;
          }
      }
    }
}

double mean_square_error(const Format& f, const std::vector<float>& x, Geometry g) {
  const std::vector<float> y = decode(f, encode(f, x, g), g, 0, g.numel());
  double sum = 0, power = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += std::pow(double(y[i]) - x[i], 2), power += double(x[i]) * x[i];
  return sum / power;
}

// Of two bits the best scalar quantizer leaves .1175, e8p's lattice .0888. The smaller the matrix, the more of its error its
// own codebooks take, which are 8 KB.
TEST(Aqlm, NormalNumbers) {
  const Geometry small{256, 256}, large{1024, 1024};
  const std::vector<float> x = normals(small.numel(), 1), y = normals(large.numel(), 2);
  EXPECT_LT(mean_square_error(format("aqlm"), x, small), 0.0705);
  EXPECT_LT(mean_square_error(format("aqlm"), y, large), 0.0920);
  EXPECT_GT(mean_square_error(format("aqlm"), y, large), 0.0800);  // .0625 is the bound for all that has two bits
  EXPECT_LT(mean_square_error(format("aqlm(codebooks=3)"), x, small), 0.0180);
  EXPECT_LT(mean_square_error(format("aqlm(codebooks=1)"), x, small), 0.2900);
  EXPECT_LT(mean_square_error(format("aqlm(bits=6)"), x, small), 0.1630);
  EXPECT_LT(mean_square_error(format("aqlm(scale=f16)"), x, small), 0.0705);
}

// Codebooks are the tensor's own: what repeats costs little.
TEST(Aqlm, LearnsWhatRepeats) {
  const Geometry g{128, 256};
  const std::vector<float> kinds = normals(40 * 8, 3);
  std::vector<float> x = normals(g.numel(), 4, 0.02f);
  for (size_t v = 0; v < x.size() / 8; ++v)
    for (size_t k = 0; k < 8; ++k) x[v * 8 + k] += kinds[v * 2654435761u % 40 * 8 + k];
  EXPECT_LT(mean_square_error(format("aqlm"), x, g), 0.001);
}

// Where each vector has a word of its own, what is lost is f16's rounding of it.
TEST(Aqlm, FewerVectorsThanWords) {
  const Geometry g{3, 256};
  const std::vector<float> x = normals(g.numel(), 5);
  EXPECT_LT(mean_square_error(format("aqlm(codebooks=1)"), x, g), 1e-7);
}

TEST(Aqlm, RowsOfAnySize) {
  const Geometry g{64, 256};
  const std::vector<float> x = normals(g.numel(), 6);
  std::vector<float> sized = x;
  for (size_t i = 0; i < x.size(); ++i) sized[i] *= std::pow(10.0f, float(i / 256) - 32);
  const std::vector<float> a = decode(format("aqlm"), encode(format("aqlm"), x, g), g, 0, g.numel()),
                           b = decode(format("aqlm"), encode(format("aqlm"), sized, g), g, 0, g.numel());
  for (size_t row = 0; row < 64; ++row) {
    double error = 0, power = 0, plain = 0;
    for (size_t i = row * 256; i < row * 256 + 256; ++i) {
      error += std::pow(double(b[i]) - sized[i], 2), power += double(sized[i]) * sized[i];
      plain += std::pow(double(a[i]) - x[i], 2) / 256;
    }
    EXPECT_LT(error / power, 0.06) << row;
    EXPECT_LT(plain, 0.06) << row;
  }
}

// Against all 65,536 sums: the search keeps 8 of each codebook's words and misses little.
TEST(Aqlm, SumsAreNearlyTheNearest) {
  const Format& f = format("aqlm");
  const Geometry g{32, 512};
  const std::vector<float> x = normals(g.numel(), 7);
  const Stored s = encode(f, x, g);
  const auto half = [&](int64_t i) {
    uint16_t h;
    std::memcpy(&h, s.plane(2) + 2 * i, 2);
    const int exponent = h >> 10 & 31;
    const double size = exponent ? std::ldexp(1024 + (h & 1023), exponent - 25) : std::ldexp(h & 1023, -24);
    return h >> 15 ? -size : size;
  };
  std::vector<double> word(2 * 256 * 8);
  for (size_t i = 0; i < word.size(); ++i) word[i] = half(int64_t(i));
  double ours = 0, least = 0;
  for (size_t v = 0; v < 2048; v += 16) {
    const double scale = s.floats(1)[v / 64];
    double best = 1e30;
    const auto far = [&](size_t a, size_t b) {
      double sum = 0;
      for (size_t k = 0; k < 8; ++k) sum += std::pow(x[v * 8 + k] / scale - word[a * 8 + k] - word[(256 + b) * 8 + k], 2);
      return sum;
    };
    for (size_t a = 0; a < 256; ++a)
      for (size_t b = 0; b < 256; ++b) best = std::min(best, far(a, b));
    ours += far(s.plane(0)[2 * v], s.plane(0)[2 * v + 1]), least += best;
  }
  EXPECT_LT(ours, 1.02 * least);
}

TEST(Aqlm, RowsAreWholeVectors) {
  try {
    const Format& f = format("aqlm");
    f.def->planes(f, {4, 100});
    FAIL();
  } catch (const ValueError& e) {
    EXPECT_STREQ(e.what(), "aqlm: rows are whole vectors of 8: the last dimension is 100; pad it to 104 or pick i2(group=32)");
  }
}

}  // namespace
}  // namespace dyadic
