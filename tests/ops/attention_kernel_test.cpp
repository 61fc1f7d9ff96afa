// Blocked attention against a naive computation in f64, forward and backward; the same bits for any number of threads.
#include "ops/nn/attention_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/parallel.h"
#include "loops/gemm_bf16.h"

namespace dyadic {
namespace {

struct Random {
  uint64_t state;
  explicit Random(uint64_t seed) : state(seed * 2 + 1) {}
  double uniform() {  // [-1, 1)
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return double(uint32_t(state >> 33)) / double(1u << 30) - 1;
  }
};
double to_double(double x) { return x; }
double to_double(float x) { return x; }
double to_double(uint16_t h) {
  const uint32_t u = uint32_t(h) << 16;
  float x;
  std::memcpy(&x, &u, 4);
  return x;
}
double to_double(_Float16 x) { return double(x); }
template <class S> S from_double(double x) {
  if constexpr (std::is_same_v<S, uint16_t>) {
    const float f = float(x);
    uint32_t u;
    std::memcpy(&u, &f, 4);
    return std::isnan(x) ? 0x7fc0 : uint16_t((u + 0x7fff + (u >> 16 & 1)) >> 16);
  } else {
    return S(x);
  }
}
template <class S> const AttentionFunctions& functions() {  // uint16_t: bf16
  const AttentionKernel& k = attention_kernel();
  if constexpr (sizeof(S) == 2) return std::is_same_v<S, uint16_t> ? k.bf16 : k.f16;
  return sizeof(S) == 8 ? k.f64 : k.f32;
}
template <class S> using LseOf = std::conditional_t<sizeof(S) == 8, double, float>;

// Six tensors in the packed layout [B, T, 3, H, D] (q, k, v; their gradients) and [B, T, H, D] (out, dout).
template <class S> struct Problem {
  AttentionShape s;
  std::vector<S> q, k, v, out, dout, dq, dk, dv;
  std::vector<LseOf<S>> lse;
  std::vector<uint8_t> workspace;

  Problem(AttentionShape shape, double size = 1) : s(shape) {
    Random r(uint64_t(s.tq * 131 + s.tk * 17 + s.head_dim));
    const auto make = [&](int64_t t, double scale) {
      std::vector<S> x(size_t(s.batch * t * 3 * s.heads * s.head_dim + 1));
      for (S& e : x) e = from_double<S>(scale * r.uniform());
      return x;
    };
    q = make(s.tq, size), k = make(s.tk, size), v = make(s.tk, 1), dout = make(s.tq, 1);
    out.assign(q.size(), from_double<S>(77)), dq = out;
    dk.assign(k.size(), from_double<S>(77)), dv = dk;
    lse.resize(size_t(s.batch * s.heads * s.tq) + 1, 77);
  }
  int64_t step() const { return 3 * s.heads * s.head_dim; }
  int64_t at(int64_t b, int64_t h, int64_t t, int64_t count) const { return (b * count + t) * step() + h * s.head_dim; }
  AttentionView view(const std::vector<S>& x, int64_t t) const { return {x.data(), t * step(), s.head_dim, step()}; }
  AttentionOut view(std::vector<S>& x, int64_t t) const { return {x.data(), t * step(), s.head_dim, step()}; }
  static constexpr uint8_t kGuard = 0xa5;
  void reserve(bool backward) {
    workspace.assign(attention_kernel().workspace(s, backward, num_threads(), functions<S>()) + 64, kGuard);
  }
  void check_guard() {
    for (size_t i = workspace.size() - 64; i < workspace.size(); ++i)
      ASSERT_EQ(workspace[i], kGuard) << "wrote behind the workspace";
  }
  void forward() {
    reserve(false);
    const std::vector<S>&cq = q, &ck = k, &cv = v;
    const AttentionForward f{s, view(cq, s.tq), view(ck, s.tk), view(cv, s.tk), view(out, s.tq), lse.data(), workspace.data()};
    functions<S>().forward(f);
    check_guard();
  }
  void backward() {
    reserve(true);
    const std::vector<S>&cq = q, &ck = k, &cv = v, &co = out, &cd = dout;
    const AttentionBackward f{s,          view(cq, s.tq), view(ck, s.tk), view(cv, s.tk), view(co, s.tq),  view(cd, s.tq),
                              lse.data(), view(dq, s.tq), view(dk, s.tk), view(dv, s.tk), workspace.data()};
    functions<S>().backward(f);
    check_guard();
  }
};

template <class S> struct Reference {  // f64, with the T x T matrix
  std::vector<double> out, lse, dq, dk, dv;
  explicit Reference(const Problem<S>& p) {
    const AttentionShape& s = p.s;
    out.assign(p.q.size(), 0), dq = out, dk.assign(p.k.size(), 0), dv = dk;
    lse.assign(p.lse.size(), -std::numeric_limits<double>::infinity());
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t i = 0; i < s.tq; ++i) row(p, b, h, i);
  }
  void row(const Problem<S>& p, int64_t b, int64_t h, int64_t i) {
    const AttentionShape& s = p.s;
    const int64_t n = s.causal ? std::max<int64_t>(0, std::min(s.tk, i + 1 + s.tk - s.tq)) : s.tk, d = s.head_dim;
    if (n == 0) return;
    const size_t qi = size_t(p.at(b, h, i, s.tq));
    std::vector<double> w(static_cast<size_t>(n)), g(w);
    double top = -std::numeric_limits<double>::infinity(), sum = 0, delta = 0;
    const auto key = [&](int64_t j) { return size_t(p.at(b, h, j, s.tk)); };
    for (int64_t j = 0; j < n; ++j) {
      double x = 0;
      for (size_t c = 0; c < size_t(d); ++c) x += to_double(p.q[qi + c]) * to_double(p.k[key(j) + c]);
      w[size_t(j)] = x * double(s.scale);
      top = std::max(top, w[size_t(j)]);
    }
    for (double& x : w) x = std::exp(x - top), sum += x;
    lse[size_t((b * s.heads + h) * s.tq + i)] = top + std::log(sum);
    for (int64_t j = 0; j < n; ++j) {
      w[size_t(j)] /= sum;
      for (size_t c = 0; c < size_t(d); ++c) {
        out[qi + c] += w[size_t(j)] * to_double(p.v[key(j) + c]);
        dv[key(j) + c] += w[size_t(j)] * to_double(p.dout[qi + c]);
        g[size_t(j)] += to_double(p.dout[qi + c]) * to_double(p.v[key(j) + c]);
      }
      delta += w[size_t(j)] * g[size_t(j)];
    }
    for (int64_t j = 0; j < n; ++j) {
      const double ds = w[size_t(j)] * (g[size_t(j)] - delta) * double(s.scale);
      for (size_t c = 0; c < size_t(d); ++c) {
        dq[qi + c] += ds * to_double(p.k[key(j) + c]);
        dk[key(j) + c] += ds * to_double(p.q[qi + c]);
      }
    }
  }
};

std::string describe(const AttentionShape& s) {
  return "B " + std::to_string(s.batch) + " H " + std::to_string(s.heads) + " tq " + std::to_string(s.tq) + " tk " +
         std::to_string(s.tk) + " D " + std::to_string(s.head_dim) + (s.causal ? " causal" : "");
}
// The largest difference relative to the largest value (but at least 0.05: with one key, dq is 0); -1 for a NaN. Elements that
// no head owns must keep their 77.
template <class S>
double error(const Problem<S>& p, const std::vector<S>& got, const std::vector<double>& want, int64_t count) {
  double worst = 0, size = 0.05;
  for (size_t i = 0; i < want.size(); ++i) size = std::max(size, std::fabs(want[i]));
  const size_t owned = size_t(p.s.heads * p.s.head_dim), step = size_t(p.step());
  for (size_t i = 0; i < want.size(); ++i) {
    const bool mine = i % step < owned && i < size_t(p.s.batch * count) * step;
    if (!mine && to_double(got[i]) != to_double(from_double<S>(77))) return -2;
    if (!mine) continue;
    const double e = std::fabs(to_double(got[i]) - want[i]) / size;
    if (std::isnan(e)) return -1;
    worst = std::max(worst, e);
  }
  return worst;
}
template <class S> void compare(AttentionShape s, double tolerance, double size = 1) {
  SCOPED_TRACE(describe(s));
  Problem<S> p(s, size);
  const Reference<S> r(p);
  p.forward();
  const double e = error(p, p.out, r.out, s.tq);
  EXPECT_TRUE(e >= 0 && e <= tolerance) << "out: " << e;
  for (size_t i = 0; i + 1 < r.lse.size(); ++i) {
    if (std::isinf(r.lse[i]))
      EXPECT_EQ(double(p.lse[i]), r.lse[i]);
    else
      EXPECT_NEAR(double(p.lse[i]), r.lse[i], tolerance * (1 + std::fabs(r.lse[i])));
  }
  EXPECT_EQ(p.lse.back(), 77);
  p.backward();
  const double eq = error(p, p.dq, r.dq, s.tq), ek = error(p, p.dk, r.dk, s.tk), ev = error(p, p.dv, r.dv, s.tk);
  EXPECT_TRUE(eq >= 0 && eq <= 4 * tolerance) << "dq: " << eq;
  EXPECT_TRUE(ek >= 0 && ek <= 4 * tolerance) << "dk: " << ek;
  EXPECT_TRUE(ev >= 0 && ev <= 2 * tolerance) << "dv: " << ev;
}

constexpr double kF32 = 4e-6, kF64 = 1e-14, kF16 = 1.5e-3, kBf16 = 1.2e-2;

class Attention : public ::testing::TestWithParam<Bf16Path> {
 protected:
  const int threads_ = num_threads();
  const Bf16Path path_ = bf16_path();
  void SetUp() override {
    if (!set_bf16_path(GetParam())) GTEST_SKIP() << "this processor lacks the path";
  }
  void TearDown() override {
    set_num_threads(threads_);
    set_bf16_path(path_);
  }
};
std::string path_name(const ::testing::TestParamInfo<Bf16Path>& info) {
  return info.param == Bf16Path::decode ? "decode" : "dot";
}
INSTANTIATE_TEST_SUITE_P(Bf16, Attention, ::testing::Values(Bf16Path::decode, Bf16Path::dot), path_name);

const AttentionShape kShapes[] = {
    {1, 1, 1, 1, 1, true, 1},           {2, 3, 5, 5, 4, true, 0.5f},        {1, 2, 64, 64, 64, true, 0.125f},
    {1, 1, 65, 65, 33, true, 0.2f},     {2, 2, 100, 100, 16, false, 0.25f}, {1, 1, 130, 70, 20, true, 0.2f},
    {1, 2, 70, 130, 17, true, 0.2f},    {1, 1, 1, 200, 64, true, 0.125f},   {1, 1, 200, 1, 8, false, 0.3f},
    {1, 1, 300, 300, 7, true, 0.4f},    {1, 1, 257, 600, 40, true, 0.15f},  {1, 1, 600, 530, 12, true, 0.3f},
    {1, 1, 3, 1100, 128, false, 0.09f}, {1, 1, 40, 513, 100, false, 0.1f},  {1, 2, 12, 20, 130, true, 0.1f},
};

TEST_P(Attention, F32) {
  for (const AttentionShape& s : kShapes) compare<float>(s, kF32);
}
TEST_P(Attention, F64) {
  for (const AttentionShape& s : kShapes) compare<double>(s, kF64);
}
TEST_P(Attention, F16) {
  for (const AttentionShape& s : kShapes) compare<_Float16>(s, kF16);
}
TEST_P(Attention, Bf16) {
  for (const AttentionShape& s : kShapes) compare<uint16_t>(s, kBf16);
}

TEST_P(Attention, BigScoresDoNotOverflow) {  // scores of a thousand: one key takes nearly all, rounding errors grow with them
  compare<float>({1, 2, 90, 90, 32, true, 1}, 1e-2, 20);
  compare<double>({1, 2, 90, 90, 32, true, 1}, 1e-10, 20);
  Problem<float> p({1, 1, 600, 600, 16, true, 1},
                   1e18);  // scores beyond f32: infinite, so NaN like exp(inf - inf), never a trap
  p.forward();
  p.backward();
}

TEST_P(Attention, QueriesWithoutKeysGiveZeros) {
  Problem<float> p({1, 1, 10, 4, 8, true, 1});
  p.v[0] = std::numeric_limits<float>::quiet_NaN();  // of the first key, in the same register tile as blind queries
  p.forward();
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t c = 0; c < 8; ++c) EXPECT_EQ(p.out[size_t(p.at(0, 0, i, 10) + c)], 0);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(p.lse[i], -std::numeric_limits<float>::infinity());
  Problem<float> none({2, 1, 3, 0, 5, false, 1});  // no keys at all
  none.forward();
  none.backward();
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t c = 0; c < 5; ++c) {
        EXPECT_EQ(none.out[size_t(none.at(b, 0, i, 3) + c)], 0);
        EXPECT_EQ(none.dq[size_t(none.at(b, 0, i, 3) + c)], 0);
      }
  Problem<float> empty({2, 2, 0, 4, 5, false, 1});  // no queries: gradients of keys are zero
  empty.forward();
  empty.backward();
  EXPECT_EQ(empty.dk[0], 0);
  EXPECT_EQ(empty.dv[0], 0);
}

template <class S> void special_values() {
  const double inf = std::numeric_limits<double>::infinity();
  const AttentionShape s{1, 1, 100, 100, 24, true, 0.2f};
  const auto value = [](const Problem<S>& p, const std::vector<S>& x, int64_t i) {
    return to_double(x[size_t(p.at(0, 0, i, p.s.tq) + 5)]);
  };
  Problem<S> p(s);
  p.q[size_t(p.at(0, 0, 30, 100) + 5)] = from_double<S>(std::nan(""));
  p.forward();
  p.backward();
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(std::isnan(value(p, p.out, i)), i == 30) << i;
  EXPECT_TRUE(std::isnan(double(p.lse[30])));
  EXPECT_TRUE(std::isnan(value(p, p.dq, 30)));
  EXPECT_TRUE(std::isnan(value(p, p.dk, 10)) && std::isnan(value(p, p.dv, 10)));  // keys that query 30 sees
  EXPECT_FALSE(std::isnan(value(p, p.dv, 60)));

  Problem<S> k(s);  // every score of key 40 is NaN
  k.k[size_t(k.at(0, 0, 40, 100) + 5)] = from_double<S>(std::nan(""));
  k.forward();
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(std::isnan(value(k, k.out, i)), i >= 40) << i;

  Problem<S> m(s);  // scores of key 40 are -inf: as if it weren't there
  for (int64_t i = 0; i < 100; ++i) m.q[size_t(m.at(0, 0, i, 100) + 5)] = from_double<S>(1);
  Problem<S> without = m;
  m.k[size_t(m.at(0, 0, 40, 100) + 5)] = from_double<S>(-inf);
  without.k[size_t(m.at(0, 0, 40, 100) + 5)] = from_double<S>(-1e30);
  m.forward();
  without.forward();
  EXPECT_EQ(m.out, without.out);

  Problem<S> v(s);  // an infinite value
  v.v[size_t(v.at(0, 0, 20, 100) + 5)] = from_double<S>(inf);
  v.forward();
  for (int64_t i = 20; i < 100; ++i) EXPECT_EQ(value(v, v.out, i), inf) << i;
  EXPECT_TRUE(std::isfinite(value(v, v.out, 3)));
}
TEST_P(Attention, SpecialValues) {
  special_values<float>();
  special_values<double>();
  special_values<_Float16>();
  special_values<uint16_t>();
}

template <class S> void same_bits() {
  for (const AttentionShape& s :
       {AttentionShape{2, 3, 70, 70, 32, true, 0.2f}, {1, 2, 300, 620, 20, true, 0.2f}, {1, 5, 90, 33, 9, false, 1}}) {
    set_num_threads(1);
    Problem<S> first(s);
    first.forward();
    first.backward();
    for (const int threads : {2, 3, 7}) {
      set_num_threads(threads);
      Problem<S> p(s);
      p.forward();
      p.backward();
      EXPECT_EQ(std::memcmp(p.out.data(), first.out.data(), p.out.size() * sizeof(S)), 0)
          << describe(s) << " threads " << threads;
      EXPECT_EQ(p.lse, first.lse);
      EXPECT_EQ(std::memcmp(p.dq.data(), first.dq.data(), p.dq.size() * sizeof(S)), 0) << describe(s) << " threads " << threads;
      EXPECT_EQ(std::memcmp(p.dk.data(), first.dk.data(), p.dk.size() * sizeof(S)), 0) << describe(s) << " threads " << threads;
      EXPECT_EQ(std::memcmp(p.dv.data(), first.dv.data(), p.dv.size() * sizeof(S)), 0) << describe(s) << " threads " << threads;
    }
  }
}
TEST_P(Attention, SameBitsForAnyThreads) {
  same_bits<float>();
  same_bits<double>();
  same_bits<_Float16>();
  same_bits<uint16_t>();
}

TEST(AttentionWorkspace, DoesNotGrowWithTheSquare) {
  const auto bytes = [](int64_t t, bool backward) {
    return attention_kernel().workspace({1, 1, t, t, 64, true, 1}, backward, 1, functions<float>());
  };
  EXPECT_EQ(bytes(1024, false), bytes(16384, false));
  EXPECT_LT(bytes(16384, true), bytes(1024, true) + size_t(16384 * 65 * 4 + 4096));  // dq in f32 and delta
}

}  // namespace
}  // namespace dyadic
