// Convolutions of shapes that take each way through the kernels (panels of filters, stencils by row and by plane, several
// blocks, channels in turns), forward and both gradients, against the sum that defines them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/parallel.h"
#include "dyadic/dyadic.h"

namespace dyadic {
namespace {

struct ConvShape {
  int64_t batch, channels, filters, groups, height, width, kernel, stride, padding, dilation;
};

const ConvShape kConvShapes[] = {
    {2, 6, 6, 6, 9, 17, 3, 1, 1, 1},    // depthwise, rows of one vector and a little
    {1, 4, 4, 4, 7, 7, 3, 1, 1, 1},     // small planes
    {3, 5, 5, 5, 33, 32, 3, 2, 1, 1},   // strides
    {1, 3, 6, 3, 20, 35, 5, 1, 2, 1},   // two filters a group
    {1, 2, 2, 2, 16, 40, 3, 3, 2, 2},   // stride and dilation
    {1, 2, 2, 2, 130, 71, 3, 1, 1, 1},  // several blocks
    {2, 70, 1, 1, 40, 37, 3, 1, 1, 1},  // channels in turns
    {1, 9, 7, 1, 12, 33, 2, 1, 0, 1},   // filters in fours, twos and ones
    {5, 8, 40, 1, 8, 8, 3, 1, 1, 1},    // panels
    {2, 3, 3, 3, 6, 19, 7, 1, 3, 1},    // more taps than registers
    {1, 2, 2, 2, 1, 50, 1, 1, 0, 1},    // one tap
    {1, 2, 2, 2, 4, 3, 3, 4, 1, 1},     // a stride beyond the kernel
};

struct Conv {
  ConvShape s;
  Tensor x, w, b, dy, y, dx, dw;

  Conv(const ConvShape& shape, DType d) : s(shape) {
    manual_seed(3);
    auto make = [&](std::vector<int64_t> sizes) { return randn(sizes, f64).to(d); };
    x = make({s.batch, s.channels, s.height, s.width}).requires_grad_();
    w = make({s.filters, s.channels / s.groups, s.kernel, s.kernel}).requires_grad_();
    b = make({s.filters});
    y = conv2d(x, w, b, {s.stride}, {s.padding}, {s.dilation}, s.groups);
    dy = make(y.sizes().vec());
    y.backward(dy);
    dx = x.grad(), dw = w.grad();
  }
  // Calls f(index in y, in x, in w) for every product of the sum.
  template <class F> void products(F&& f) const {
    const int64_t h = y.size(2), v = y.size(3), c = s.channels / s.groups, per = s.filters / s.groups;
    for (int64_t n = 0; n < s.batch; n++)
      for (int64_t o = 0; o < s.filters; o++)
        for (int64_t i = 0; i < h; i++)
          for (int64_t j = 0; j < v; j++)
            for (int64_t k = 0; k < c; k++)
              for (int64_t p = 0; p < s.kernel; p++)
                for (int64_t q = 0; q < s.kernel; q++) {
                  const int64_t r = i * s.stride - s.padding + p * s.dilation, t = j * s.stride - s.padding + q * s.dilation;
                  if (r < 0 || r >= s.height || t < 0 || t >= s.width) continue;
                  f(((n * s.filters + o) * h + i) * v + j, ((n * s.channels + o / per * c + k) * s.height + r) * s.width + t,
                    ((o * c + k) * s.kernel + p) * s.kernel + q);
                }
  }
};

void expect_near(const std::vector<double>& got, const std::vector<double>& want, double tolerance, const char* what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); i++) ASSERT_NEAR(got[i], want[i], tolerance) << what << " " << i;
}

TEST(ConvKernel, IsTheSumThatDefinesIt) {
  for (DType d : {f64, f32, bf16}) {
    for (const ConvShape& s : kConvShapes) {
      SCOPED_TRACE(testing::Message() << d.name() << " [" << s.batch << ", " << s.channels << ", " << s.height << ", "
                                      << s.width << "] to " << s.filters << ", groups " << s.groups << ", kernel " << s.kernel);
      const Conv c(s, d);
      const std::vector<double> x = c.x.to_vector(), w = c.w.to_vector(), b = c.b.to_vector(), dy = c.dy.to_vector();
      std::vector<double> y(dy.size()), dx(x.size()), dw(w.size());
      const int64_t plane = c.y.size(2) * c.y.size(3);
      for (size_t i = 0; i < y.size(); i++) y[i] = b[size_t(int64_t(i) / plane % s.filters)];
      c.products([&](int64_t o, int64_t i, int64_t k) {
        y[size_t(o)] += x[size_t(i)] * w[size_t(k)];
        dx[size_t(i)] += dy[size_t(o)] * w[size_t(k)];
        dw[size_t(k)] += dy[size_t(o)] * x[size_t(i)];
      });
      double largest = 1;
      for (const auto* v : {&y, &dx, &dw})
        for (double e : *v) largest = std::max(largest, std::abs(e));
      const double tolerance = largest * (d == f64 ? 1e-13 : d == f32 ? 2e-6 : 4e-3);
      expect_near(c.y.to_vector(), y, tolerance, "y");
      expect_near(c.dx.to_vector(), dx, tolerance, "dx");
      expect_near(c.dw.to_vector(), dw, tolerance, "dw");
    }
  }
}

TEST(ConvKernel, SameBitsForAnyNumberOfThreads) {
  const int before = num_threads();
  for (const ConvShape& s : kConvShapes) {
    set_num_threads(1);
    const Conv one(s, f32);
    for (int threads : {2, 3, 7}) {
      set_num_threads(threads);
      const Conv c(s, f32);
      for (auto [a, b] : {std::pair(&one.y, &c.y), {&one.dx, &c.dx}, {&one.dw, &c.dw}})
        EXPECT_EQ(std::memcmp(a->data_ptr(), b->data_ptr(), size_t(a->nbytes())), 0) << threads << " threads";
    }
  }
  set_num_threads(before);
}

// What lies beside a row in memory takes no part: an infinity there would make a NaN of a padded position's zero.
TEST(ConvKernel, InfinitiesStayInTheirWindows) {
  Tensor x = zeros({1, 2, 5, 19}), w = ones({2, 1, 1, 3}).requires_grad_();
  select(select(x, 2, 2), 2, 0).fill_(INFINITY);  // the leftmost column is in the first window of its row alone
  const Tensor y = conv2d(x, w, {}, {1}, {0}, {1}, 2);
  y.backward(ones(y.sizes().vec()));
  EXPECT_EQ(isfinite(w.grad()).to_vector(), (std::vector<double>{0, 1, 1, 0, 1, 1}));
  EXPECT_EQ(sum(isinf(y)).item(), 2);
  EXPECT_EQ(sum(isnan(y)).item(), 0);
}

}  // namespace
}  // namespace dyadic
