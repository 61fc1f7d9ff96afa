// The vector math against the C library in wider arithmetic: errors in units in the last place (ulp) over all exponents and
// over the ranges networks live in, and every special value exactly.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/base/math_kernel.h"

namespace dyadic {
namespace {

using Wide = long double;
const std::map<std::string, Wide (*)(Wide)> kReference = {
    {"exp", [](Wide x) { return std::exp(x); }},
    {"exp2", [](Wide x) { return std::exp2(x); }},
    {"expm1", [](Wide x) { return std::expm1(x); }},
    {"tanh", [](Wide x) { return std::tanh(x); }},
    {"sigmoid", [](Wide x) { return 1 / (1 + std::exp(-x)); }},
    {"log", [](Wide x) { return std::log(x); }},
    {"log2", [](Wide x) { return std::log2(x); }},
    {"log1p", [](Wide x) { return std::log1p(x); }},
    {"sin", [](Wide x) { return std::sin(x); }},
    {"cos", [](Wide x) { return std::cos(x); }},
    {"tan", [](Wide x) { return std::tan(x); }},
    {"erf", [](Wide x) { return std::erf(x); }},
    {"erfc", [](Wide x) { return std::erfc(x); }},
    {"normcdf", [](Wide x) { return std::erfc(-x * 0.70710678118654752440084L) / 2; }},
    {"sqrt", [](Wide x) { return std::sqrt(x); }},
    {"rsqrt", [](Wide x) { return 1 / std::sqrt(x); }},
    {"floor", [](Wide x) { return std::floor(x); }},
    {"ceil", [](Wide x) { return std::ceil(x); }},
    {"trunc", [](Wide x) { return std::trunc(x); }},
    {"round", [](Wide x) { return std::nearbyint(x); }},
};
// The largest error allowed, in ulp: f32, f64. Measured on all three instruction sets, rounded up.
struct Limit {
  double f32, f64;
};
const std::map<std::string, Limit> kLimit = {
    {"exp", {1.5, 1.5}},   {"exp2", {1.5, 1.5}}, {"expm1", {2, 2}},     {"tanh", {2.5, 2.5}}, {"sigmoid", {2.5, 2.5}},
    {"log", {1, 1}},       {"log2", {2.5, 2}},   {"log1p", {1.5, 1.5}}, {"sin", {2, 1}},      {"cos", {2, 1}},
    {"tan", {4, 2}},       {"erf", {1.5, 4}},    {"erfc", {5, 7}},      {"normcdf", {5, 8}},  {"sqrt", {0.501, 0.501}},
    {"rsqrt", {1.5, 1.5}}, {"floor", {0, 0}},    {"ceil", {0, 0}},      {"trunc", {0, 0}},    {"round", {0, 0}},
};

// Overflow counts as one step beyond the largest number.
template <class T> double ulps(T got, Wide want) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : 1e30;
  using L = std::numeric_limits<T>;
  Wide top = std::ldexp(Wide(1), L::max_exponent);
  Wide g = std::isinf(got) ? std::copysign(top, Wide(got)) : Wide(got);
  if (std::fabs(want) > top) want = std::copysign(top, want);
  if (want != 0 && g != 0 && std::signbit(g) != std::signbit(want)) return 1e30;
  int e = want == 0 ? L::min_exponent : std::ilogb(want);
  if (std::fabs(want) == top) e = L::max_exponent - 1;
  Wide unit = std::ldexp(Wide(1), std::max(e, L::min_exponent - 1) - (L::digits - 1));
  return double(std::fabs(g - want) / unit);
}

template <class T> std::vector<T> samples() {
  using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1, kExponents = sizeof(T) == 4 ? 255 : 2047;
  constexpr int kPerExponent = sizeof(T) == 4 ? 200 : 40;
  std::mt19937_64 random(1);
  std::vector<T> x;
  auto push = [&](U u) {
    T v;
    std::memcpy(&v, &u, sizeof v);
    x.push_back(v), x.push_back(-v);
  };
  for (U e = 0; e < U(kExponents); e++) {
    U one = U(1) << kMantissa;
    push(e * one), push(e * one + 1), push(e * one + one - 1);
    for (int i = 0; i < kPerExponent; i++) push(e * one + random() % one);
  }
  for (double width : {1.0, 6.0, 30.0, 120.0, 1100.0})
    for (int i = 0; i < 20000; i++) x.push_back(T((double(random() >> 11) * 0x1p-53 * 2 - 1) * width));
  for (int i = -2000; i <= 2000; i++) {  // multiples of pi/2 and integers, with neighbours
    for (double v : {i * 1.5707963267948966, i * 0.25, double(i) * i * 0.5}) {
      x.push_back(T(v));
      x.push_back(std::nextafter(T(v), T(1e30)));
      x.push_back(std::nextafter(T(v), T(-1e30)));
    }
  }
  return x;
}

template <class T> void check_function(const MathEntry& entry, void (*function)(const T*, T*, int64_t), double limit) {
  static const std::vector<T> x = samples<T>();
  std::vector<T> y(x.size());
  function(x.data(), y.data(), int64_t(x.size()));
  auto reference = kReference.at(entry.name);
  double worst = 0;
  T where = 0, got = 0;
  for (size_t i = 0; i < x.size(); i++) {
    double u = ulps(y[i], reference(Wide(x[i])));
    if (u > worst) worst = u, where = x[i], got = y[i];
  }
  EXPECT_LE(worst, limit) << entry.name << "(" << std::hexfloat << where << std::defaultfloat << " = " << where << ") is "
                          << got << ", not " << double(reference(Wide(where)));
  ::testing::Test::RecordProperty(entry.name, std::to_string(worst));
  if (std::getenv("DYADIC_TEST_VERBOSE"))
    std::printf("%-6s %-8s %d  max %.3f ulp at %.9g\n", isa_name(), entry.name, int(sizeof(T)) * 8, worst, double(where));
}

TEST(Math, UlpF32) {
  for (int i = 0; i < math_kernel().count; i++) {
    const MathEntry& e = math_kernel().entry[i];
    check_function<float>(e, e.f32, kLimit.at(e.name).f32);
  }
}
TEST(Math, UlpF64) {
  for (int i = 0; i < math_kernel().count; i++) {
    const MathEntry& e = math_kernel().entry[i];
    check_function<double>(e, e.f64, kLimit.at(e.name).f64);
  }
}

template <class T> std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> v = {L::quiet_NaN(), L::infinity(), 0,       L::denorm_min(), L::min(), L::max(), 1, 2, 3,
                      T(0.5),         T(1.5),        T(1e10), T(1e30)};
  for (size_t i = 0, n = v.size(); i < n; i++) v.push_back(-v[i]);
  v.push_back(std::nextafter(T(1), T(2)));
  v.push_back(std::nextafter(T(1), T(0)));
  return v;
}
// Same kind (NaN, infinity, zero, finite) and same sign as the C library says.
template <class T> void expect_kind(T got, T want, const std::string& call) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << call << " is " << got << ", not NaN";
    return;
  }
  EXPECT_EQ(std::fpclassify(got) == FP_NAN, false) << call << " is NaN, not " << want;
  EXPECT_EQ(std::signbit(got), std::signbit(want)) << call << " is " << got << ", not " << want;
  if (std::isinf(want) || want == 0) { EXPECT_EQ(got, want) << call; }
}
template <class T> void check_special(const MathEntry& entry, void (*function)(const T*, T*, int64_t)) {
  for (T x : special_values<T>())
    for (int lanes : {1, 64}) {  // in a part of a vector and in whole ones
      std::vector<T> in(lanes, x), out(lanes);
      function(in.data(), out.data(), lanes);
      T want = T(kReference.at(entry.name)(Wide(x)));
      for (T got : out) expect_kind(got, want, entry.name + ("(" + std::to_string(x) + ")"));
    }
}
TEST(Math, SpecialValues) {
  for (int i = 0; i < math_kernel().count; i++) {
    check_special<float>(math_kernel().entry[i], math_kernel().entry[i].f32);
    check_special<double>(math_kernel().entry[i], math_kernel().entry[i].f64);
  }
}

TEST(Math, NanAmongNumbers) {  // a NaN or a huge angle in one lane leaves its neighbours alone
  for (int i = 0; i < math_kernel().count; i++) {
    const MathEntry& e = math_kernel().entry[i];
    std::vector<float> x(37, 0.75f), y(37), clean(37);
    e.f32(x.data(), clean.data(), 37);
    x[3] = NAN, x[20] = 3e30f, x[36] = -INFINITY;
    e.f32(x.data(), y.data(), 37);
    for (int k = 0; k < 37; k++) {
      if (k == 3 || k == 20 || k == 36) continue;
      EXPECT_EQ(y[k], clean[k]) << e.name << " lane " << k;
    }
    EXPECT_TRUE(std::isnan(y[3])) << e.name;
  }
}

TEST(Math, GeluTail) {  // x * normcdf(x): relative error, not absolute, down to where f32 underflows
  std::vector<float> x, y;
  for (float v = -14; v < 6; v += 0.001f) x.push_back(v);
  y.resize(x.size());
  for (int i = 0; i < math_kernel().count; i++)
    if (std::string(math_kernel().entry[i].name) == "normcdf")
      math_kernel().entry[i].f32(x.data(), y.data(), int64_t(x.size()));
  for (size_t i = 0; i < x.size(); i++) EXPECT_LE(ulps(y[i], kReference.at("normcdf")(x[i])), 5) << x[i];
}

template <class T> void check_pow(void (*function)(const T*, const T*, T*, int64_t), double limit) {
  std::vector<T> x, y;
  for (T a : special_values<T>())
    for (T b : special_values<T>()) x.push_back(a), y.push_back(b);
  size_t special = x.size();
  std::mt19937_64 random(2);
  auto uniform = [&](double low, double high) { return T(low + (high - low) * double(random() >> 11) * 0x1p-53); };
  for (int i = 0; i < 50000; i++) {
    T a = std::exp2(uniform(-20, 20));
    x.push_back(i % 5 ? a : -a), y.push_back(i % 5 == 0 ? std::trunc(uniform(-9, 9)) : uniform(-8, 8));
  }
  std::vector<T> z(x.size());
  function(x.data(), y.data(), z.data(), int64_t(x.size()));
  for (size_t i = 0; i < x.size(); i++) {
    Wide want = std::pow(Wide(x[i]), Wide(y[i]));
    std::string call = "pow(" + std::to_string(x[i]) + ", " + std::to_string(y[i]) + ")";
    if (i < special) expect_kind(z[i], std::pow(x[i], y[i]), call);
    EXPECT_LE(ulps(z[i], want), limit) << call << " is " << z[i];
  }
}
TEST(Math, PowF32) { check_pow<float>(math_kernel().pow_f32, 0.51); }
TEST(Math, PowF64) { check_pow<double>(math_kernel().pow_f64, 1); }

}  // namespace
}  // namespace dyadic
