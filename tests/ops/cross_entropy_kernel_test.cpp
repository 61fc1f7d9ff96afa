// Cross entropy against plain f64 loops, its gradient by formula and by differences, targets out of range, ignored rows.
#include "ops/nn/cross_entropy_kernel.h"

#include "tests/ops/kernel_data.h"

namespace dyadic::test {
namespace {

using Values = std::vector<double>;

struct Expected {
  Values loss, lse, dlogits;
};

Expected cross_entropy(const Values& x, const std::vector<int64_t>& targets, const CrossEntropyShape& s, const Values& grad) {
  Expected e{Values(s.rows), Values(s.rows), Values(s.rows * s.classes)};
  for (int64_t r = 0; r < s.rows; r++) {
    if (targets[r] == s.ignore_index) continue;
    const double* row = x.data() + r * s.classes;
    double most = -kInf, sum = 0, mean = 0;
    for (int64_t c = 0; c < s.classes; c++) most = std::fmax(most, row[c]);
    for (int64_t c = 0; c < s.classes; c++) sum += std::exp(row[c] - most);
    for (int64_t c = 0; c < s.classes; c++) mean += row[c] / static_cast<double>(s.classes);
    const double lse = most + std::log(sum), smooth = s.label_smoothing;
    e.lse[r] = lse;
    e.loss[r] = (1 - smooth) * (lse - row[targets[r]]) + (smooth > 0 ? smooth * (lse - mean) : 0);
    for (int64_t c = 0; c < s.classes; c++) {
      const double wanted = (c == targets[r] ? 1 - smooth : 0) + smooth / static_cast<double>(s.classes);
      e.dlogits[r * s.classes + c] = (std::exp(row[c] - lse) - wanted) * grad[r];
    }
  }
  return e;
}

TEST(CrossEntropyKernel, MatchesPlainLoops) {
  const CrossEntropyShape shapes[] = {{1, 1}, {3, 2}, {9, 65}, {64, 256}, {2, 4096}, {3, 4097}, {5, 10001}, {2, 50257}, {0, 5}};
  for (DType dtype : {f32, f64, bf16, f16}) {
    for (CrossEntropyShape s : shapes) {
      for (double smoothing : {0.0, 0.1}) {
        s.label_smoothing = smoothing;
        Numbers numbers(5);
        const DType compute = dtype == f64 ? f64 : f32;
        const Array x(dtype, numbers.normals(s.rows * s.classes, 4)), grad(compute, numbers.normals(s.rows));
        std::vector<int64_t> targets(s.rows);
        for (int64_t r = 0; r < s.rows; r++) targets[r] = r % 4 == 3 ? -100 : numbers.below(s.classes);
        Array loss(compute, s.rows), lse(compute, s.rows), dx(dtype, s.rows * s.classes);
        const CrossEntropyKernel& k = cross_entropy_kernel();
        ASSERT_EQ(k.forward(s, x.source(), targets.data(), loss.bytes.data(), lse.bytes.data()), -1);
        Values scaled = grad.values();
        for (double& g : scaled) g *= 0.25;
        const Expected want = cross_entropy(x.values(), targets, s, scaled);
        const double e = dtype == f64 ? 1e-14 : 3e-7;
        expect_close(lse.values(), want.lse, e, e, "lse");
        expect_close(loss.values(), want.loss, e, 30 * e, "loss");  // lse and the logit, up to 20, cancel
        k.backward(s, x.source(), targets.data(), lse.bytes.data(), grad.bytes.data(), 1, 0.25, dx.target());
        const double stored = dtype == f16 ? 0x1p-25 : 0;
        expect_close(dx.values(), want.dlogits, dtype == f32 ? 2e-5 : relative_error(dtype) + (dtype == f64 ? 1e-13 : 2e-5),
                     10 * e + stored, "dlogits");
        double sum = -1, plain = 0;
        const int64_t counted = k.total(s, loss.bytes.data(), compute.format()->compute(), targets.data(), &sum);
        for (double l : loss.values()) plain += l;
        EXPECT_EQ(counted, s.rows - s.rows / 4);
        EXPECT_NEAR(sum, plain, 1e-6 * std::abs(plain));
      }
    }
  }
}

TEST(CrossEntropyKernel, GradientIsTheDifferenceQuotient) {
  Numbers numbers(6);
  const CrossEntropyShape s{3, 17, -100, 0.2};
  Values x = numbers.normals(s.rows * s.classes, 2);
  const std::vector<int64_t> targets = {16, 0, 5};
  Values loss(3), lse(3), dx(x.size()), spare(3);
  const double one = 1;
  const Format* f = f64.format();
  const CrossEntropyKernel& k = cross_entropy_kernel();
  k.forward(s, {x.data(), f}, targets.data(), loss.data(), lse.data());
  k.backward(s, {x.data(), f}, targets.data(), lse.data(), &one, 0, 1, {dx.data(), f});
  for (size_t i = 0; i < x.size(); i++) {
    const double h = 1e-5, was = x[i];
    double sums[2];
    for (int side = 0; side < 2; side++) {
      x[i] = was + (side ? h : -h);
      k.forward(s, {x.data(), f}, targets.data(), loss.data(), spare.data());
      k.total(s, loss.data(), Compute::f64, targets.data(), sums + side);
    }
    x[i] = was;
    EXPECT_NEAR((sums[1] - sums[0]) / (2 * h), dx[i], 1e-9) << i;
  }
}

TEST(CrossEntropyKernel, NamesTheFirstBadTargetAndTouchesNothing) {
  const CrossEntropyShape s{4, 3};
  const Array x(f32, Values(12, 0.5));
  Array loss(f32, Values(4, 7.0)), lse(f32, Values(4, 7.0));
  for (int64_t bad : {int64_t{3}, int64_t{-1}, int64_t{1} << 40, std::numeric_limits<int64_t>::min()}) {
    const std::vector<int64_t> targets = {0, -100, bad, 99};
    EXPECT_EQ(cross_entropy_kernel().forward(s, x.source(), targets.data(), loss.bytes.data(), lse.bytes.data()), 2);
    EXPECT_EQ(loss.values(), Values(4, 7.0));
  }
  CrossEntropyShape other = s;  // an ignore_index among the classes ignores that class
  other.ignore_index = 1;
  const std::vector<int64_t> targets = {0, 1, 1, 2};
  EXPECT_EQ(cross_entropy_kernel().forward(other, x.source(), targets.data(), loss.bytes.data(), lse.bytes.data()), -1);
  EXPECT_EQ(loss.values()[1], 0);
  double sum;
  EXPECT_EQ(cross_entropy_kernel().total(other, loss.bytes.data(), Compute::f32, targets.data(), &sum), 2);
}

TEST(CrossEntropyKernel, SpecialValues) {
  for (DType dtype : {f32, f64, bf16}) {
    const DType compute = dtype == f64 ? f64 : f32;
    const CrossEntropyShape s{6, 5000};
    Values v(s.rows * s.classes, 0.0);
    for (int64_t c = 0; c < s.classes; c++) {
      v[c] = c < 4500 ? -kInf : 1;  // a first block of nothing but -inf
      v[s.classes + c] = -kInf;     // a row of it
      v[4 * s.classes + c] = c == 4999 ? 30000 : -30000;
    }
    v[2 * s.classes + 4500] = kNaN;
    v[3 * s.classes + 10] = kInf;
    v[5 * s.classes + 3] = -kInf;  // the target itself
    const Array x(dtype, v), one(compute, Values(1, 1.0));
    Array loss(compute, 6), lse(compute, 6), dx(dtype, 30000);
    const std::vector<int64_t> targets = {4700, 0, 0, 0, 4999, 3};
    ASSERT_EQ(cross_entropy_kernel().forward(s, x.source(), targets.data(), loss.bytes.data(), lse.bytes.data()), -1);
    const Values got = loss.values();
    EXPECT_NEAR(got[0], std::log(500.0), 1e-5);
    EXPECT_TRUE(std::isnan(got[1]) && std::isnan(got[2]) && std::isnan(got[3]));
    EXPECT_EQ(got[4], 0);
    EXPECT_EQ(got[5], kInf);
    cross_entropy_kernel().backward(s, x.source(), targets.data(), lse.bytes.data(), one.bytes.data(), 0, 1, dx.target());
    const Values d = dx.values();
    EXPECT_EQ(d[0], 0);
    EXPECT_NEAR(d[4700], 0.002 - 1, 4e-3);
    EXPECT_TRUE(std::isnan(d[2 * s.classes]));
    EXPECT_EQ(d[4 * s.classes + 4999], 0);
    EXPECT_EQ(d[5 * s.classes + 3], -1);
  }
}

TEST(CrossEntropyKernel, InPlaceAndSameBitsForAnyThreads) {
  Numbers numbers(8);
  const CrossEntropyShape s{65, 5001};
  for (DType dtype : {f32, bf16}) {
    const Array x(dtype, numbers.normals(s.rows * s.classes)), one(f32, Values(1, 1.0));
    std::vector<int64_t> targets(s.rows);
    for (auto& t : targets) t = numbers.below(s.classes);
    expect_same_bits(
        [&] {
          Array loss(f32, s.rows), lse(f32, s.rows), dx(dtype, s.rows * s.classes), same = x;
          cross_entropy_kernel().forward(s, x.source(), targets.data(), loss.bytes.data(), lse.bytes.data());
          cross_entropy_kernel().backward(s, x.source(), targets.data(), lse.bytes.data(), one.bytes.data(), 0, 1, dx.target());
          cross_entropy_kernel().backward(s, same.source(), targets.data(), lse.bytes.data(), one.bytes.data(), 0, 1,
                                          same.target());
          EXPECT_EQ(same.bytes, dx.bytes);
          dx.bytes.insert(dx.bytes.end(), loss.bytes.begin(), loss.bytes.end());
          return dx.bytes;
        },
        "cross_entropy");
  }
}

}  // namespace
}  // namespace dyadic::test
