// The vector math against the C library in wider arithmetic: errors in units in the last place (ulp) over all exponents and
// over the ranges networks live in, and every special value exactly.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/base/math_kernel.h"
#include "tests/base/wide.h"

namespace dyadic {
namespace {

using namespace wide;

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
    {"ndtr", [](Wide x) { return std::erfc(-x * 0.70710678118654752440084L) / 2; }},
    {"sqrt", [](Wide x) { return std::sqrt(x); }},
    {"rsqrt", [](Wide x) { return 1 / std::sqrt(x); }},
    {"floor", [](Wide x) { return std::floor(x); }},
    {"ceil", [](Wide x) { return std::ceil(x); }},
    {"trunc", [](Wide x) { return std::trunc(x); }},
    {"round", [](Wide x) { return std::nearbyint(x); }},
    {"asin", [](Wide x) { return std::asin(x); }},
    {"acos", [](Wide x) { return std::acos(x); }},
    {"atan", [](Wide x) { return std::atan(x); }},
    {"sinh", [](Wide x) { return std::sinh(x); }},
    {"cosh", [](Wide x) { return std::cosh(x); }},
    {"asinh", [](Wide x) { return std::asinh(x); }},
    {"acosh", [](Wide x) { return std::acosh(x); }},
    {"atanh", [](Wide x) { return std::atanh(x); }},
    {"log10", [](Wide x) { return std::log10(x); }},
    {"lgamma", [](Wide x) { return std::lgamma(x); }},
    {"digamma", digamma},
    {"i0", [](Wide x) { return bessel_i(0, x, false); }},
    {"i0e", [](Wide x) { return bessel_i(0, x, true); }},
    {"i1", [](Wide x) { return bessel_i(1, x, false); }},
    {"i1e", [](Wide x) { return bessel_i(1, x, true); }},
    {"erfinv", erf_inverse},
    {"ndtri", quantile},
    {"erfcx", erfcx},
    {"frexp_mantissa",
     [](Wide x) {
       int e;
       return std::frexp(x, &e);
     }},
    {"frexp_exponent",
     [](Wide x) {
       int e = 0;
       return std::isfinite(x) ? (std::frexp(x, &e), Wide(e)) : Wide(0);
     }},
};
// Beside its zeros digamma is a difference of two parts: the reference's error is theirs, left of 0 the function's too.
bool compared(const std::string& name, Wide x, Wide want) {
  return name != "digamma" || !(std::fabs(want) < (x > 0 ? 0.01L : 50));
}

// The largest error allowed, in ulp: f32, f64. Measured on all three instruction sets, rounded up.
struct Limit {
  double f32, f64;
};
const std::map<std::string, Limit> kLimit = {
    {"exp", {1.5, 1.5}},     {"exp2", {1.5, 1.5}},  {"expm1", {2, 2}},          {"tanh", {1.5, 2.5}},
    {"sigmoid", {2.5, 2.5}}, {"log", {1, 1}},       {"log2", {2.5, 2}},         {"log1p", {1.5, 1.5}},
    {"sin", {2, 1}},         {"cos", {2, 1}},       {"tan", {0.51, 2}},         {"erf", {1.5, 4}},
    {"erfc", {0.51, 7}},     {"ndtr", {5, 8}},      {"sqrt", {0.501, 0.501}},   {"rsqrt", {1.5, 1.5}},
    {"floor", {0, 0}},       {"ceil", {0, 0}},      {"trunc", {0, 0}},          {"round", {0, 0}},
    {"asin", {0.65, 2.5}},   {"acos", {0.65, 1.5}}, {"atan", {1.15, 1.5}},      {"sinh", {1.6, 2.5}},
    {"cosh", {0.51, 1.5}},   {"asinh", {0.51, 2}},  {"acosh", {0.51, 1.5}},     {"atanh", {1.5, 2}},
    {"log10", {1.25, 2.5}},  {"lgamma", {0.51, 5}}, {"digamma", {0.51, 4}},     {"i0", {0.51, 5}},
    {"i0e", {0.51, 4}},      {"i1", {0.51, 4}},     {"i1e", {0.51, 4}},         {"erfinv", {2.5, 3}},
    {"ndtri", {0.51, 4}},    {"erfcx", {0.51, 6}},  {"frexp_mantissa", {0, 0}}, {"frexp_exponent", {0, 0}},
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
    const Wide want = reference(Wide(x[i]));
    if (!compared(entry.name, x[i], want)) continue;
    double u = ulps(y[i], want);
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
      EXPECT_TRUE(y[k] == clean[k] || (std::isnan(y[k]) && std::isnan(clean[k]))) << e.name << " lane " << k;
    }
    EXPECT_TRUE(std::isnan(y[3]) || std::string_view(e.name) == "frexp_exponent") << e.name;  // NaN has the exponent 0
  }
}

TEST(Math, GeluTail) {  // x * ndtr(x): relative error, not absolute, down to where f32 underflows
  std::vector<float> x, y;
  for (float v = -14; v < 6; v += 0.001f) x.push_back(v);
  y.resize(x.size());
  for (int i = 0; i < math_kernel().count; i++)
    if (std::string(math_kernel().entry[i].name) == "ndtr") math_kernel().entry[i].f32(x.data(), y.data(), int64_t(x.size()));
  for (size_t i = 0; i < x.size(); i++) EXPECT_LE(ulps(y[i], kReference.at("ndtr")(x[i])), 5) << x[i];
}

const std::map<std::string, Wide (*)(Wide, Wide)> kReference2 = {
    {"pow", [](Wide x, Wide y) { return std::pow(x, y); }},
    {"atan2", [](Wide x, Wide y) { return std::atan2(x, y); }},
    {"hypot", [](Wide x, Wide y) { return std::hypot(x, y); }},
    {"fmod", [](Wide x, Wide y) { return std::fmod(x, y); }},
    {"remainder",
     [](Wide x, Wide y) {
       const Wide r = std::fmod(x, y);
       return r != 0 && (r < 0) != (y < 0) ? r + y : r;
     }},
    {"div_floor",  // PyTorch's: of infinity it is NaN
     [](Wide x, Wide y) {
       const Wide r = std::fmod(x, y), q = (x - r) / y - (r != 0 && (r < 0) != (y < 0));
       return y == 0 || q == 0 ? std::copysign(y == 0 ? std::fabs(x / y) : 0, x / y) : std::nearbyint(q);
     }},
};
const std::map<std::string, Limit> kLimit2 = {{"pow", {0.51, 1}}, {"atan2", {0.51, 2}},      {"hypot", {0.51, 1.5}},
                                              {"fmod", {0, 0}},   {"remainder", {0.5, 0.5}}, {"div_floor", {0.5, 0.5}}};

template <class T>
void check_function2(const MathEntry2& entry, void (*function)(const T*, const T*, T*, int64_t), double limit) {
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
  auto reference = kReference2.at(entry.name);
  double worst = 0;
  for (size_t i = 0; i < x.size(); i++) {
    Wide want = reference(Wide(x[i]), Wide(y[i]));
    std::string call = fmt::format("{}({}, {})", entry.name, x[i], y[i]);
    if (i < special) expect_kind(z[i], T(want), call);
    worst = std::max(worst, ulps(z[i], want));
    EXPECT_LE(ulps(z[i], want), limit) << call << " is " << z[i] << ", not " << double(want);
  }
  if (std::getenv("DYADIC_TEST_VERBOSE"))
    std::printf("%-6s %-8s %d  max %.3f ulp\n", isa_name(), entry.name, int(sizeof(T)) * 8, worst);
}
TEST(Math, TwoArguments) {
  for (int i = 0; i < math_kernel().count2; i++) {
    const MathEntry2& e = math_kernel().entry2[i];
    if (!kLimit2.contains(e.name)) continue;
    check_function2<float>(e, e.f32, kLimit2.at(e.name).f32);
    check_function2<double>(e, e.f64, kLimit2.at(e.name).f64);
  }
}

TEST(Math, PowOverAllExponents) {  // up to where it overflows and down to the subnormals: its logarithm needs more than 53 bits
  const MathEntry2* pow = nullptr;
  for (int i = 0; i < math_kernel().count2; i++)
    if (std::string(math_kernel().entry2[i].name) == "pow") pow = &math_kernel().entry2[i];
  std::mt19937_64 random(3);
  auto uniform = [&](double low, double high) { return low + (high - low) * double(random() >> 11) * 0x1p-53; };
  std::vector<double> x, y, z(40000);
  for (size_t i = 0; i < z.size(); i++) {
    const double near_one = 1 + std::ldexp(uniform(-1, 1), -int(uniform(0, 50)));
    x.push_back(i % 2 ? near_one : std::exp2(uniform(-1074, 1024)));
    y.push_back(x[i] == 1 ? 3.5 : uniform(-1080, 1030) / std::log2(x[i]));
  }
  pow->f64(x.data(), y.data(), z.data(), int64_t(z.size()));
  for (size_t i = 0; i < z.size(); i++)
    EXPECT_LE(ulps(z[i], std::pow(Wide(x[i]), Wide(y[i]))), 1) << fmt::format("pow({}, {}) is {}", x[i], y[i], z[i]);
}

TEST(Math, SineStaysWithinOne) {
  std::vector<float> x, y;
  for (int i = -20000; i <= 20000; i++) {  // multiples of pi/2 with their neighbours
    const float v = float(i * 1.5707963267948966);
    for (float w : {std::nextafter(v, -1e9f), v, std::nextafter(v, 1e9f)}) x.push_back(w);
  }
  y.resize(x.size());
  for (int i = 0; i < math_kernel().count; i++) {
    const MathEntry& e = math_kernel().entry[i];
    if (e.name != std::string("sin") && e.name != std::string("cos")) continue;
    e.f32(x.data(), y.data(), int64_t(x.size()));
    for (size_t k = 0; k < x.size(); k++) EXPECT_LE(std::fabs(y[k]), 1) << e.name << "(" << x[k] << ")";
  }
}

TEST(Math, DigammaAtItsZero) {  // values by mpmath with 40 digits
  const std::vector<double> x = {1.46163, 1.4616321449683622, 1.4616321449683625, 1.47};
  const Wide want[] = {-2.075628388722457237532e-6L, -9.241265521729427516792e-17L, 1.224537462200406903132e-16L,
                       8.066489011364868442326e-3L};
  std::vector<double> y(x.size());
  for (int i = 0; i < math_kernel().count; i++)
    if (std::string(math_kernel().entry[i].name) == "digamma")
      math_kernel().entry[i].f64(x.data(), y.data(), int64_t(x.size()));
  for (size_t i = 0; i < x.size(); i++) EXPECT_LE(ulps(y[i], want[i]), 3) << x[i];
}

}  // namespace
}  // namespace dyadic
