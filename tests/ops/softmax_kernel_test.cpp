// softmax and log_softmax against plain f64 loops, in every format, with special values, and for several numbers of threads.
#include "ops/nn/softmax_kernel.h"

#include "tests/ops/kernel_data.h"

namespace dyadic::test {
namespace {

using Values = std::vector<double>;

Values softmax(const Values& x, int64_t n, bool log) {
  Values y(x.size());
  for (size_t row = 0; n > 0 && row < x.size(); row += n) {
    double most = -kInf, sum = 0;
    for (int64_t j = 0; j < n; j++) most = std::fmax(most, x[row + j]);
    for (int64_t j = 0; j < n; j++) sum += std::exp(x[row + j] - most);
    for (int64_t j = 0; j < n; j++) {
      y[row + j] = log ? x[row + j] - most - std::log(sum) : std::exp(x[row + j] - most) / sum;
    }
  }
  return y;
}

Values softmax_backward(const Values& y, const Values& dy, int64_t n, bool log) {
  Values dx(y.size());
  for (size_t row = 0; n > 0 && row < y.size(); row += n) {
    double sum = 0;
    for (int64_t j = 0; j < n; j++) sum += log ? dy[row + j] : y[row + j] * dy[row + j];
    for (int64_t j = 0; j < n; j++) {
      const size_t i = row + j;
      dx[i] = log ? dy[i] - std::exp(y[i]) * sum : y[i] * (dy[i] - sum);
    }
  }
  return dx;
}

struct Shape {
  int64_t rows, n;
};
constexpr Shape kSoftmaxShapes[] = {{0, 5},    {3, 0},    {4, 1},    {5, 3},    {7, 65},
                                    {33, 128}, {2, 4096}, {3, 4097}, {2, 9001}, {1, 50257}};

TEST(SoftmaxKernel, MatchesPlainLoops) {
  Numbers numbers(1);
  for (DType dtype : {f32, f64, bf16, f16}) {
    for (Shape s : kSoftmaxShapes) {
      for (bool log : {false, true}) {
        const Array x(dtype, numbers.normals(s.rows * s.n, 3)), dy(dtype, numbers.normals(s.rows * s.n));
        Array y(dtype, s.rows * s.n), dx(dtype, s.rows * s.n);
        softmax_kernel().forward(x.source(), y.target(), s.rows, s.n, 1, log);
        const double relative = relative_error(dtype), tiny = dtype == f16 ? 0x1p-25 : 1e-30;
        const double digits = dtype == f64 ? 4e-15 : 2e-6;  // a logarithm is the difference of numbers up to 20
        expect_close(y.values(), softmax(x.values(), s.n, log), relative, log ? digits : tiny, "y");
        softmax_kernel().backward(y.source(), dy.source(), dx.target(), s.rows, s.n, 1, log);
        const Values want = softmax_backward(y.values(), dy.values(), s.n, log);
        const double cancelled = dtype == f64 ? 1e-14 : 4e-6;  // dy - sum loses digits: the bound is absolute
        expect_close(dx.values(), want, relative, log ? cancelled * std::sqrt(s.n + 1.0) : cancelled, "dx");
      }
    }
  }
}

TEST(SoftmaxKernel, MixesFormats) {
  Numbers numbers(2);
  const Array x(bf16, numbers.normals(3 * 5000));
  Array y(f32, 3 * 5000);
  softmax_kernel().forward(x.source(), y.target(), 3, 5000, 1, false);
  expect_close(y.values(), softmax(x.values(), 5000, false), 2e-6, 0, "y");
}

TEST(SoftmaxKernel, SpecialValues) {
  const Values rows = {1,     2,     kNaN,  0,      // NaN spreads
                       1,     kInf,  0,     0,      // so does inf - inf
                       -kInf, 1,     2,     -kInf,  // -inf has no weight
                       -kInf, -kInf, -kInf, -kInf, 1000, 1001, -1000, 999};
  for (DType dtype : {f32, f64, bf16, f16}) {
    for (bool log : {false, true}) {
      const Array x(dtype, rows);
      Array y(dtype, 20);
      softmax_kernel().forward(x.source(), y.target(), 5, 4, 1, log);
      Values want = softmax(x.values(), 4, log);
      for (int i : {0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15}) want[i] = kNaN;
      expect_close(y.values(), want, relative_error(dtype), 1e-7, "y");
    }
  }
}

TEST(SoftmaxKernel, InPlace) {
  Numbers numbers(3);
  for (DType dtype : {f32, bf16}) {
    for (int64_t n : {100, 6000}) {
      for (bool log : {false, true}) {
        Array x(dtype, numbers.normals(2 * n)), y(dtype, 2 * n);
        softmax_kernel().forward(x.source(), y.target(), 2, n, 1, log);
        softmax_kernel().forward(x.source(), x.target(), 2, n, 1, log);
        EXPECT_EQ(x.bytes, y.bytes);
        Array dy(dtype, numbers.normals(2 * n)), dx(dtype, 2 * n);
        softmax_kernel().backward(y.source(), dy.source(), dx.target(), 2, n, 1, log);
        softmax_kernel().backward(y.source(), dy.source(), dy.target(), 2, n, 1, log);
        EXPECT_EQ(dy.bytes, dx.bytes);
      }
    }
  }
}

TEST(SoftmaxKernel, SameBitsForAnyThreads) {
  Numbers numbers(4);
  const Array x(f32, numbers.normals(301 * 257));
  expect_same_bits(
      [&] {
        Array y(f32, 301 * 257);
        softmax_kernel().forward(x.source(), y.target(), 301, 257, 1, false);
        return y.bytes;
      },
      "softmax");
}

}  // namespace
}  // namespace dyadic::test
