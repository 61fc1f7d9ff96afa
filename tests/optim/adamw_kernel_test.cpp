// AdamW against a plain f64 loop over many steps; 8-bit states; the lost-update meter's exact counts; stochastic rounding; the
// gradient's unscaling and sum of squares.
#include "optim/adamw_kernel.h"

#include "tests/ops/kernel_data.h"

namespace dyadic::test {
namespace {

using Values = std::vector<double>;

AdamwStep at_step(int t, AdamwStep s = {}) {
  s.bias1 = 1 - std::pow(s.beta1, t);
  s.bias2 = 1 - std::pow(s.beta2, t);
  return s;
}

// PyTorch's single-tensor AdamW, in double.
struct Plain {
  Values p, m, v;

  explicit Plain(const Values& start) : p(start), m(start.size()), v(start.size()) {}
  void step(const Values& grad, const AdamwStep& s) {
    for (size_t i = 0; i < p.size(); i++) {
      const double g = grad[i] * s.grad_scale;
      p[i] *= 1 - s.lr * s.weight_decay;
      m[i] += (g - m[i]) * (1 - s.beta1);
      v[i] = v[i] * s.beta2 + (1 - s.beta2) * g * g;
      p[i] -= s.lr / s.bias1 * m[i] / (std::sqrt(v[i]) / std::sqrt(s.bias2) + s.eps);
    }
  }
};

// A parameter with its states in either storage.
struct Parameter {
  Array p, m, v;
  std::vector<unsigned char> m_codes, v_codes;
  std::vector<float> m_absmax, v_absmax;
  bool packed;

  Parameter(DType dtype, const Values& start, bool eight_bits)
      : p(dtype, start),
        m(f32, Values(start.size(), 0.0)),
        v(f32, Values(start.size(), 0.0)),
        m_codes(start.size(), 127),  // the codes of zero
        v_codes(start.size(), 0),
        m_absmax((start.size() + 255) / 256, 0.0f),
        v_absmax(m_absmax),
        packed(eight_bits) {}
  UpdateCount step(const Array& grad, const AdamwStep& s) {
    AdamwArrays a;
    a.param = p.target();
    a.grad = grad.source();
    a.m = packed ? AdamwState{m_codes.data(), m_absmax.data()} : AdamwState{m.bytes.data(), nullptr};
    a.v = packed ? AdamwState{v_codes.data(), v_absmax.data()} : AdamwState{v.bytes.data(), nullptr};
    a.n = p.size();
    return adamw_kernel().step(a, s);
  }
};

TEST(AdamwKernel, MatchesPlainLoop) {
  for (int64_t n : {0, 1, 255, 257, 1025, 20003}) {
    for (DType grad_type : {f32, bf16, f16}) {
      Numbers numbers(1);
      Parameter q(f32, numbers.normals(n), false);
      Plain want(q.p.values());
      AdamwStep s;
      s.lr = 1e-2;
      s.weight_decay = 0.1;
      s.grad_scale = 0.5;
      for (int t = 1; t <= 12; t++) {
        const Array grad(grad_type, numbers.normals(n, 0.1));
        q.step(grad, at_step(t, s));
        want.step(grad.values(), at_step(t, s));
      }
      expect_close(q.p.values(), want.p, 2e-6, 1e-6, "p");
      expect_close(q.m.values(), want.m, 1e-6, 1e-8, "m");
      expect_close(q.v.values(), want.v, 2e-6, 0, "v");
    }
  }
}

// From torch.optim.AdamW (2.x, f32, lr 0.1, betas 0.9, 0.999, eps 1e-8, weight decay 0.01): the first step is -lr sign(g) after
// decay.
TEST(AdamwKernel, FirstStepByHand) {
  Parameter q(f32, {1, -2, 0.5, 0}, false);
  AdamwStep s;
  s.lr = 0.1;
  q.step(Array(f32, Values{0.5, 0.25, -4, 0}), at_step(1, s));
  expect_close(q.p.values(), {0.999 - 0.1, -1.998 - 0.1, 0.4995 + 0.1, 0}, 0, 2e-7, "p");
}

TEST(AdamwKernel, MaximizesAndHasNoMomentum) {
  AdamwStep s;
  s.beta1 = 0;
  s.grad_scale = -1;
  s.weight_decay = 0;
  Parameter q(f32, {1, 1}, false);
  q.step(Array(f32, Values{2, -2}), at_step(1, s));
  expect_close(q.p.values(), {1.001, 0.999}, 0, 2e-7, "p");
  expect_close(q.m.values(), {-2, 2}, 0, 0, "m");
}

TEST(AdamwKernel, NonFiniteGradientsShow) {
  Parameter q(f32, Values(5, 1.0), false);
  q.step(Array(f32, Values{0, kNaN, kInf, -kInf, 1}), at_step(1));
  const Values p = q.p.values();
  EXPECT_FALSE(std::isnan(p[0]) || std::isnan(p[4]));
  EXPECT_TRUE(std::isnan(p[1]) && std::isnan(p[2]) && std::isnan(p[3]));
}

// A twin in f32 sees the same gradients for 50 steps: the mean difference stays far below one step (bound of bitsandbytes'
// users).
TEST(AdamwKernel, EightBitStatesStayCloseToFloat) {
  for (int64_t n : {256 * 40, 256 * 40 + 77}) {
    Numbers numbers(2);
    const Values start = numbers.normals(n, 0.02);
    Parameter wide(f32, start, false), small(f32, start, true);
    Values direction = numbers.normals(n);
    for (int t = 1; t <= 50; t++) {
      Values g = numbers.normals(n, 0.01);
      for (int64_t i = 0; i < n; i++) g[i] += 0.01 * direction[i];
      const Array grad(f32, g);
      wide.step(grad, at_step(t));
      small.step(grad, at_step(t));
    }
    const Values a = wide.p.values(), b = small.p.values();
    double difference = 0, moved = 0;
    for (int64_t i = 0; i < n; i++) {
      difference += std::abs(a[i] - b[i]) / static_cast<double>(n);
      moved += std::abs(a[i] - start[i]) / static_cast<double>(n);
    }
    EXPECT_GT(moved, 5e-3);
    EXPECT_LT(difference, 0.05 * moved);
  }
}

// bitsandbytes' own criterion: parameters are brought together after every step, and each step differs by less than 6e-5 (lr
// 1e-3).
TEST(AdamwKernel, EightBitStepsStayCloseToFloat) {
  const int64_t n = 1024 * 32;
  Numbers numbers(7);
  Parameter wide(f32, numbers.normals(n, 0.1), false), small(f32, Values(n, 0.0), true);
  double worst = 0;
  for (int t = 1; t <= 50; t++) {
    small.p.bytes = wide.p.bytes;
    const Array grad(f32, numbers.normals(n, 0.01));
    wide.step(grad, at_step(t));
    small.step(grad, at_step(t));
    const Values a = wide.p.values(), b = small.p.values();
    double difference = 0;
    for (int64_t i = 0; i < n; i++) difference += std::abs(a[i] - b[i]) / static_cast<double>(n);
    worst = std::max(worst, difference);
  }
  EXPECT_GT(worst, 1e-7);
  EXPECT_LT(worst, 6e-5);
}

// One step from zero states by the definition: every 256 elements are scaled by their own absmax.
TEST(AdamwKernel, EightBitBlocksHaveTheirOwnScale) {
  const int64_t n = 256 * 3 + 10;
  Numbers numbers(3);
  Values g = numbers.normals(n);
  for (int64_t i = 256; i < 512; i++) g[i] *= 1e-6;
  Parameter q(f32, Values(n, 1.0), true);
  const Array grad(f32, g);
  q.step(grad, at_step(1));
  for (int64_t block = 0; block < 4; block++) {
    double most = 0;
    for (int64_t i = block * 256; i < std::min(n, block * 256 + 256); i++) most = std::max(most, std::abs(grad.values()[i]));
    EXPECT_NEAR(q.m_absmax[block], 0.1 * most, 1e-6 * most);
    EXPECT_NEAR(q.v_absmax[block], 0.001 * most * most, 1e-6 * most * most);
  }
}

TEST(AdamwKernel, CountsLostUpdatesExactly) {
  // The first step moves by lr = 1e-3: 1.0 keeps its bf16 value (half an ulp is 2e-3 downwards, 4e-3 upwards), 0.01 doesn't; a
  // zero gradient without decay is no step.
  AdamwStep s;
  s.weight_decay = 0;
  const Values start = {1, 1, 0.01, 0.01, 1, 0, 100, 0.5};
  const Array grad(f32, Values{1, -1, 1, -1, 0, 1, 1, 0});
  Parameter half(bf16, start, false);
  UpdateCount c = half.step(grad, at_step(1, s));
  EXPECT_EQ(c.nonzero, 6);
  EXPECT_EQ(c.lost, 3);
  EXPECT_EQ(half.p.values()[0], 1);
  Parameter full(f32, start, false);
  c = full.step(grad, at_step(1, s));
  EXPECT_EQ(c.nonzero, 6);
  EXPECT_EQ(c.lost, 0);
  Parameter large(f32, {1e6, 1e6, 1}, false);
  c = large.step(Array(f32, Values{1, 0, 1}), at_step(1, s));
  EXPECT_EQ(c.nonzero, 2);
  EXPECT_EQ(c.lost, 1);
  s.weight_decay = 0.01;  // decay alone is a step, and lost: 1 - 1e-5 rounds to 1 in bf16
  Parameter decayed(bf16, Values(300, 1.0), false);
  c = decayed.step(Array(f32, Values(300, 0.0)), at_step(1, s));
  EXPECT_EQ(c.nonzero, 300);
  EXPECT_EQ(c.lost, 300);
}

TEST(AdamwKernel, StochasticRoundingKeepsSmallSteps) {
  const int64_t n = 20000;
  AdamwStep s;
  s.weight_decay = 0;
  s.rounding = {Rounding::stochastic, 1, 2, 0};
  Parameter q(bf16, Values(n, 1.0), false);
  const UpdateCount c = q.step(Array(f32, Values(n, 1.0)), at_step(1, s));
  double mean = 0;
  for (double p : q.p.values()) {
    EXPECT_TRUE(p == 1 || p == 1 - 0x1p-8);
    mean += p / static_cast<double>(n);
  }
  // A step of 1e-3 in cells of 2^-8: 25.6 % move; four standard errors of the mean.
  EXPECT_NEAR(mean, 1 - 1e-3, 4 * 0x1p-8 * std::sqrt(0.256 * 0.744 / static_cast<double>(n)));
  EXPECT_EQ(c.nonzero, n);
  EXPECT_NEAR(static_cast<double>(c.lost), 0.744 * static_cast<double>(n), 4 * std::sqrt(0.19 * static_cast<double>(n)));
  // The bits belong to the element: the second half on its own, at its index, rounds the same way.
  Parameter half(bf16, Values(n / 2, 1.0), false);
  s.rounding.index = n / 2;
  half.step(Array(f32, Values(n / 2, 1.0)), at_step(1, s));
  EXPECT_EQ(std::memcmp(half.p.bytes.data(), q.p.bytes.data() + n, n), 0);
}

TEST(AdamwKernel, SameBitsForAnyThreads) {
  const int64_t n = 100001;
  for (DType dtype : {f32, bf16}) {
    for (bool eight_bits : {false, true}) {
      expect_same_bits(
          [&] {
            Numbers numbers(4);
            Parameter q(dtype, numbers.normals(n), eight_bits);
            AdamwStep s;
            s.rounding.mode = Rounding::stochastic;
            UpdateCount c;
            for (int t = 1; t <= 2; t++) c = q.step(Array(dtype, numbers.normals(n)), at_step(t, s));
            auto all = q.p.bytes;
            all.insert(all.end(), q.m_codes.begin(), q.m_codes.end());
            all.insert(all.end(), q.v.bytes.begin(), q.v.bytes.end());
            for (int shift = 0; shift < 64; shift += 8)
              all.push_back(static_cast<unsigned char>((c.nonzero * 31 + c.lost) >> shift));
            return all;
          },
          "adamw");
    }
  }
}

TEST(AdamwKernel, UnscalesAndFindsInfinities) {
  Numbers numbers(5);
  for (DType dtype : {f32, bf16, f16}) {
    for (int64_t n : {0, 1, 1023, 5001}) {
      const Array grad(dtype, numbers.normals(n, 64));
      Array scaled = grad;
      EXPECT_TRUE(adamw_kernel().unscale(scaled.target(), n, 1.0 / 64));
      Values want = grad.values();
      for (double& g : want) g /= 64;
      expect_close(scaled.values(), want, 0, dtype == f16 ? 0x1p-25 : 0, "grad");
      for (double bad : {kInf, -kInf, kNaN}) {
        for (int64_t at : {int64_t{0}, n / 2, n - 1}) {
          if (n == 0) continue;
          Values v(n, 1.0);
          v[at] = bad;
          Array broken(dtype, v);
          EXPECT_FALSE(adamw_kernel().unscale(broken.target(), n, 0.5));
        }
      }
    }
  }
}

TEST(AdamwKernel, SumsSquares) {
  Numbers numbers(6);
  for (DType dtype : {f32, bf16}) {
    for (int64_t n : {0, 1, 17, 4097, 300001}) {
      const Array grad(dtype, numbers.normals(n));
      double want = 0;
      for (double g : grad.values()) want += g * g;
      EXPECT_NEAR(adamw_kernel().sum_squares(grad.source(), n), want, 1e-13 * want);
      expect_same_bits(
          [&] {
            const double sum = adamw_kernel().sum_squares(grad.source(), n);
            std::vector<unsigned char> bytes(8);
            std::memcpy(bytes.data(), &sum, 8);
            return bytes;
          },
          "sum_squares");
    }
  }
  EXPECT_EQ(adamw_kernel().sum_squares(Array(f32, Values{0x1p100, 0x1p-140}).source(), 2), 0x1p200);
  EXPECT_EQ(adamw_kernel().sum_squares(Array(f32, Values{0x1p-140}).source(), 1), 0x1p-280);
  EXPECT_TRUE(std::isnan(adamw_kernel().sum_squares(Array(f32, Values{1, kNaN}).source(), 2)));
}

}  // namespace
}  // namespace dyadic::test
