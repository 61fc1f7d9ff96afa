// E8P against a codebook written out from its definition, and nearest words against all 65,536.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/formats/helpers.h"

namespace dyadic {
namespace {

using testing::decode;
using testing::encode;
using testing::normals;
using testing::on_every_isa;
using testing::Stored;

using Vector = std::array<double, 8>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t k = 0; k < 8; ++k) sum += a[k] * b[k];
  return sum;
}

// Magnitudes by their number: of squared norm 10 and less in lexicographic order, then every other of norm 12 without a 5/2.
std::vector<Vector> magnitudes() {
  std::vector<Vector> small, twelve;
  for (int pattern = 0; pattern < 6561; ++pattern) {
    Vector v{};
    for (int k = 7, rest = pattern; k >= 0; --k, rest /= 3) v[size_t(k)] = rest % 3 + 0.5;
    if (dot(v, v) <= 10) small.push_back(v);
    if (dot(v, v) == 12 && *std::max_element(v.begin(), v.end()) < 2) twelve.push_back(v);
  }
  EXPECT_EQ(small.size(), 227u);
  EXPECT_EQ(twelve.size(), 56u);
  for (size_t i = 0; i < 29; ++i) small.push_back(twelve[56 * i / 29]);
  return small;
}
std::vector<Vector> codebook() {
  const std::vector<Vector> all = magnitudes();
  std::vector<Vector> out;
  for (unsigned word = 0; word < 65536; ++word) {
    Vector v = all[word & 255];
    double sum = 0;
    for (size_t k = 0; k < 7; ++k) sum += v[k] *= word >> (8 + k) & 1 ? -1 : 1;
    if (std::fmod(std::fabs(sum + v[7]), 2) != 0) v[7] = -v[7];
    for (double& x : v) x += word >> 15 ? 0.25 : -0.25;
    out.push_back(v);
  }
  return out;
}

uint16_t word_of(const Stored& s, int64_t block, int64_t i) {
  uint16_t w;
  std::memcpy(&w, s.plane(0) + block * 34 + 2 + 2 * i, 2);
  return w;
}
float scale_of(const Stored& s, int64_t block) {
  uint16_t d;
  std::memcpy(&d, s.plane(0) + block * 34, 2);
  const uint32_t bits = uint32_t(d) << 16;
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
// x in the basis that words stand in: Hadamard's matrix by its definition, signs by their generator's.
std::vector<double> turned(const float* x) {
  std::vector<double> signs, out(128);
  uint64_t state = 0x9e3779b97f4a7c15u;
  for (int i = 0; i < 128; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    signs.push_back(state >> 63 ? -1 : 1);
  }
  for (int i = 0; i < 128; ++i)
    for (int j = 0; j < 128; ++j)
      out[size_t(i)] += (__builtin_parity(unsigned(i & j)) ? -1 : 1) * x[j] * signs[size_t(j)] / std::sqrt(128.0);
  return out;
}

TEST(E8p, WordsStandForTheirVectors) {
  const std::vector<Vector> book = codebook();
  const Geometry g{512, 1024};  // all words, 16 to a block
  for (const Format& f : on_every_isa(*e8p.format())) {
    Stored s = encode(f, std::vector<float>(size_t(g.numel()), 1.0f), g);
    for (unsigned w = 0; w < 65536; ++w) {
      const uint16_t one = 0x3f80, word = uint16_t(w);
      std::memcpy(s.bytes.data() + w / 16 * 34, &one, 2);
      std::memcpy(s.bytes.data() + w / 16 * 34 + 2 + w % 16 * 2, &word, 2);
    }
    const std::vector<float> values = decode(f, s, g, 0, g.numel());
    double worst = 0;
    for (unsigned w = 0; w < 65536; w += 16) {
      const std::vector<double> back = turned(values.data() + w * 8);
      for (size_t k = 0; k < 128; ++k) worst = std::max(worst, std::fabs(back[k] - book[w + k / 8][k % 8]));
    }
    EXPECT_LT(worst, 1e-5);
  }
}

TEST(E8p, NoWordIsNearer) {
  const std::vector<Vector> book = codebook();
  const Geometry g{4, 128};
  std::vector<float> x = normals(g.numel(), 3);
  for (size_t i = 128; i < 256; ++i) x[i] = i % 7 ? 0.01f * x[i] : 5 * x[i];
  x[300] = 40;
  for (const Format& f : on_every_isa(*e8p.format())) {
    const Stored s = encode(f, x, g);
    for (int64_t b = 0; b < 4; ++b) {
      const std::vector<double> y = turned(x.data() + b * 128);
      for (int64_t i = 0; i < 16; ++i) {
        Vector v{};
        for (size_t k = 0; k < 8; ++k) v[k] = y[size_t(8 * i) + k] / scale_of(s, b);
        const auto far = [&](const Vector& c) { return dot(c, c) - 2 * dot(c, v); };
        double least = far(book[0]);
        for (const Vector& c : book) least = std::min(least, far(c));
        EXPECT_LE(far(book[word_of(s, b, i)]), least + 1e-4) << b << " " << i;
      }
    }
  }
}

double e8p_error(const Format& f, const std::vector<float>& x, Geometry g) {
  const std::vector<float> y = decode(f, encode(f, x, g), g, 0, g.numel());
  double sum = 0, power = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += std::pow(double(y[i]) - x[i], 2), power += double(x[i]) * x[i];
  return sum / power;
}

// Of two bits the best scalar quantizer leaves .1175, and the bound is .0625.
TEST(E8p, NormalNumbers) {
  const Geometry g{512, 512};
  const Format& f = *e8p.format();
  EXPECT_LT(e8p_error(f, normals(g.numel(), 1), g), 0.090);
  // What is no normal number becomes one by turning: a few large ones, two values, sizes of all orders.
  std::vector<float> outliers = normals(g.numel(), 2), two = outliers;
  for (size_t i = 0; i < outliers.size(); i += 61) outliers[i] *= 12;
  for (float& v : two) v = v < 0 ? -1.0f : 1.0f;
  EXPECT_LT(e8p_error(f, outliers, g), 0.092);
  EXPECT_LT(e8p_error(f, two, g), 0.092);
  for (float size : {1e-38f, 1e-30f, 1e30f, 1e38f}) {
    std::vector<float> x = normals(g.numel(), 3);
    for (float& v : x) v = std::fmax(-1.0f, std::fmin(1.0f, 0.3f * v)) * size;
    EXPECT_LT(e8p_error(f, x, g), 0.092) << size;
  }
}

TEST(E8p, EveryInstructionSetWritesTheSameBytes) {
  const Geometry g{64, 256};
  std::vector<float> x = normals(g.numel(), 4);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= std::pow(10.0f, float(i / 256 % 40) - 20);
  std::vector<Stored> all;
  for (const Format& f : on_every_isa(*e8p.format())) all.push_back(encode(f, x, g));
  for (const Stored& s : all) EXPECT_TRUE(s.bytes == all[0].bytes);
}

}  // namespace
}  // namespace dyadic
