// The 16-bit floats against independent scalar arithmetic (every pattern, ties, subnormals, NaN), stochastic rounding,
// integers, and that every instruction set gives the same bits.
#include <gtest/gtest.h>

#include "tests/formats/helpers.h"

namespace dyadic {
namespace {

using testing::bits_of;
using testing::float_of;
using testing::on_every_isa;

struct Small {  // a float format by its definition
  DType dtype;
  int exponent_bits, mantissa_bits;
};
const Small kSmall[] = {{bf16, 8, 7}, {f16, 5, 10}};

// The value by definition, from the fields of the code.
double value_of(const Small& s, uint32_t code) {
  const int bias = (1 << (s.exponent_bits - 1)) - 1, top = (1 << s.exponent_bits) - 1;
  const int exponent = int(code >> s.mantissa_bits) & top;
  const double fraction = double(code & ((1u << s.mantissa_bits) - 1)) / double(1 << s.mantissa_bits);
  const double sign = code >> 15 ? -1 : 1;
  if (exponent == top) return fraction == 0 ? sign * INFINITY : NAN;
  return sign * (exponent ? std::ldexp(1 + fraction, exponent - bias) : std::ldexp(fraction, 1 - bias));
}

// The nearest code by definition: all positive finite values are in order of code; the next above the largest counts as
// infinity.
uint32_t nearest_of(const Small& s, double x) {
  const uint32_t sign = std::signbit(x) ? 0x8000 : 0, infinity = uint32_t((1 << s.exponent_bits) - 1) << s.mantissa_bits;
  const double size = std::fabs(x);
  uint32_t low = 0, high = infinity;  // value(low) <= size
  if (std::isinf(size)) return sign | infinity;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (value_of(s, middle) <= size ? low : high) = middle;
  }
  const double below = value_of(s, low);
  const double above = high == infinity ? 2 * std::ldexp(1.0, (1 << (s.exponent_bits - 1)) - 1) : value_of(s, high);
  const double down = size - below, up = above - size;
  return sign | (down < up || (down == up && low % 2 == 0) ? low : high);
}

std::vector<uint16_t> encode16(const Format& f, const std::vector<float>& x, const Round& round = {}) {
  std::vector<uint16_t> out(x.size() + 1, 0xABCD);
  f.def->encode(x.data(), out.data(), int64_t(x.size()), round);
  EXPECT_EQ(out.back(), 0xABCD);
  out.pop_back();
  return out;
}

TEST(Formats, SmallFloatsDecodeEveryPattern) {
  std::vector<uint16_t> codes(65536);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = uint16_t(i);
  for (const Small& s : kSmall)
    for (const Format& f : on_every_isa(*s.dtype.format())) {
      std::vector<float> got(65536);
      f.def->decode(codes.data(), got.data(), 65536);
      for (uint32_t c = 0; c < 65536; ++c) {
        const double want = value_of(s, c);
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(got[c])) << f.text << " " << c;
          ASSERT_EQ(std::signbit(got[c]), c >> 15 == 1) << f.text << " " << c;
        } else {
          ASSERT_EQ(bits_of(got[c]), bits_of(float(want))) << f.text << " " << c;
          ASSERT_EQ(f.def->decode1(f, c), want) << f.text << " " << c;
          ASSERT_EQ(f.def->encode1(f, want), c) << f.text << " " << c;
        }
      }
    }
}

TEST(Formats, SmallFloatsEncodeNearestEven) {
  for (const Small& s : kSmall) {
    // Every upper half with the lower halves where rounding changes, so all ties, subnormals and overflows are among them.
    std::vector<float> x;
    const uint32_t tie = 1u << (22 - s.mantissa_bits);
    for (uint32_t upper = 0; upper < 65536; ++upper)
      for (uint32_t lower : {0u, 1u, tie - 1, tie, tie + 1, 2 * tie - 1, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
        x.push_back(float_of(upper << 16 | (lower & 0xffff)));
    for (int e = -27; e <= -12; ++e)  // around f16's subnormals
      for (int k = 1; k < 64; ++k) x.push_back(std::ldexp(float(k), e)), x.push_back(std::nextafter(x.back(), 0.0f));
    std::vector<uint16_t> want;
    for (float v : x) want.push_back(std::isnan(v) ? 0 : uint16_t(nearest_of(s, v)));
    for (const Format& f : on_every_isa(*s.dtype.format())) {
      const std::vector<uint16_t> got = encode16(f, x);
      for (size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(x[i])) {
          const uint32_t quiet = 1u << (s.mantissa_bits - 1), top = ((1u << s.exponent_bits) - 1) << s.mantissa_bits;
          const uint32_t payload = (bits_of(x[i]) >> (23 - s.mantissa_bits)) & (quiet - 1);
          ASSERT_EQ(got[i], ((bits_of(x[i]) >> 31) << 15 | top | quiet | payload))
              << f.text << std::hex << " " << bits_of(x[i]);
        } else {
          ASSERT_EQ(got[i], want[i]) << f.text << std::hex << " " << bits_of(x[i]);
          ASSERT_EQ(f.def->encode1(f, x[i]), want[i]) << f.text << std::hex << " " << bits_of(x[i]);
        }
      }
    }
  }
}

TEST(Formats, LimitsOfFloats) {
  for (const Small& s : kSmall) {
    const FormatDef& d = *s.dtype.format()->def;
    const uint32_t infinity = uint32_t((1 << s.exponent_bits) - 1) << s.mantissa_bits;
    EXPECT_EQ(d.max, value_of(s, infinity - 1));
    EXPECT_EQ(d.min_normal, value_of(s, 1u << s.mantissa_bits));
    EXPECT_EQ(d.min_subnormal, value_of(s, 1));
    EXPECT_EQ(1 + d.eps, value_of(s, nearest_of(s, 1) + 1));
    EXPECT_EQ(d.bias, (1 << (s.exponent_bits - 1)) - 1);
  }
}

TEST(Formats, EncodeTouchesNothingElse) {
  const std::vector<float> x = testing::normals(100, 3);
  for (const Small& s : kSmall)
    for (const Format& f : on_every_isa(*s.dtype.format()))
      for (int64_t n = 0; n <= 67; ++n) {
        std::vector<uint16_t> out(70, 0xABCD);
        std::vector<float> back(70, -7.0f);
        f.def->encode(x.data() + 1, out.data() + 1, n, Round{});
        f.def->decode(out.data() + 1, back.data() + 1, n);
        for (int64_t i = 0; i < 68; ++i) {
          const bool inside = i >= 1 && i <= n;
          ASSERT_EQ(out[size_t(i)], inside ? nearest_of(s, x[size_t(i)]) : 0xABCD);
          ASSERT_EQ(back[size_t(i)], inside ? float(value_of(s, out[size_t(i)])) : -7.0f);
        }
      }
}

TEST(Formats, StochasticRoundingIsUnbiased) {
  const int n = 1 << 18;
  for (const Small& s : kSmall) {
    const Format& f = *s.dtype.format();
    for (double x : {1.0 + 0.3 * f.def->eps, -(3.0 + 0.9 * f.def->eps), 0.1 * f.def->min_subnormal, 5.7 * f.def->min_subnormal,
                     -f.def->min_normal * (1 + 0.25 * f.def->eps), 1e-3, f.def->max * 0.999}) {
      const float value = float(x);
      const std::vector<uint16_t> got = encode16(f, std::vector<float>(n, value), {Rounding::stochastic, 5, 6, 0});
      const uint32_t near = nearest_of(s, value);
      uint32_t low = std::fabs(value_of(s, near)) <= std::fabs(value) ? near : near - 1;  // towards zero
      const double a = value_of(s, low), b = value_of(s, low + 1), p = (value - a) / (b - a);
      int ups = 0;
      for (uint16_t c : got) {
        ASSERT_TRUE(c == low || c == low + 1) << f.text << " " << x;
        ups += c == low + 1;
      }
      EXPECT_NEAR(ups / double(n), p, 4 * std::sqrt(p * (1 - p) / n) + 1e-12) << f.text << " " << x;
    }
  }
}

TEST(Formats, StochasticRoundingKeepsWhatIsExactAndSpecial) {
  for (const Small& s : kSmall) {
    std::vector<float> x = {INFINITY, -INFINITY, 0.0f, -0.0f, 1.0f, -2.5f, float(s.dtype.format()->def->max)};
    const std::vector<uint16_t> want = encode16(*s.dtype.format(), x);
    x.push_back(NAN);
    for (const Format& f : on_every_isa(*s.dtype.format()))
      for (uint64_t seed = 0; seed < 50; ++seed) {
        std::vector<uint16_t> got = encode16(f, x, {Rounding::stochastic, seed, 0, 0});
        EXPECT_TRUE(std::isnan(value_of(s, got.back())));
        got.pop_back();
        EXPECT_EQ(got, want);
      }
  }
}

TEST(Formats, StochasticRoundingDoesNotDependOnTheCut) {
  const std::vector<float> x = testing::normals(3000, 9);
  for (const Small& s : kSmall) {
    const Format& format = *s.dtype.format();
    const Round round{Rounding::stochastic, 42, 7, (uint64_t{1} << 33) + 5};
    const std::vector<uint16_t> want = encode16(format, x, round);
    for (const Format& f : on_every_isa(format)) EXPECT_EQ(encode16(f, x, round), want);
    EXPECT_NE(encode16(format, x, {Rounding::stochastic, 43, 7, round.index}), want);
    EXPECT_NE(encode16(format, x, {Rounding::stochastic, 42, 8, round.index}), want);
    std::vector<uint16_t> pieces;
    for (size_t i = 0; i < x.size();) {
      const size_t m = std::min(x.size() - i, 1 + i % 700);
      Round part = round;
      part.index += i;
      const std::vector<uint16_t> piece = encode16(format, {x.begin() + long(i), x.begin() + long(i + m)}, part);
      pieces.insert(pieces.end(), piece.begin(), piece.end());
      i += m;
    }
    EXPECT_EQ(pieces, want);
  }
}

template <class T> void check_integer(DType dtype) {
  const std::vector<int32_t> values = {0,    1,     -1,    127,    128,   255,       256,      -128,
                                       -129, 32767, 32768, -32769, 65536, INT32_MAX, INT32_MIN};
  for (const Format& f : on_every_isa(*dtype.format())) {
    std::vector<T> stored(values.size());
    std::vector<int32_t> back(values.size());
    f.def->encode(values.data(), stored.data(), int64_t(values.size()), Round{});
    f.def->decode(stored.data(), back.data(), int64_t(values.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(stored[i], T(values[i])) << f.text;
      EXPECT_EQ(back[i], int32_t(T(values[i]))) << f.text;
      EXPECT_EQ(T(f.def->encode1(f, values[i])), T(values[i])) << f.text;
      EXPECT_EQ(f.def->decode1(f, f.def->encode1(f, values[i])), double(T(values[i]))) << f.text;
    }
  }
}
TEST(Formats, NarrowIntegersWrap) {
  check_integer<int8_t>(i8);
  check_integer<int16_t>(i16);
  check_integer<int32_t>(i32);
  check_integer<uint8_t>(u8);
}

TEST(Formats, BoolIsZeroOrOne) {
  for (const Format& f : on_every_isa(*boolean.format())) {
    const int32_t values[] = {0, 1, -5, 256, INT32_MIN};
    const uint8_t bytes[] = {0, 1, 2, 255, 128};
    uint8_t stored[5];
    int32_t got[5];
    f.def->encode(values, stored, 5, Round{});
    f.def->decode(bytes, got, 5);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(stored[i], i > 0);
      EXPECT_EQ(got[i], i > 0);
    }
    EXPECT_EQ(f.def->encode1(f, NAN), 1u);
  }
}

}  // namespace
}  // namespace dyadic
