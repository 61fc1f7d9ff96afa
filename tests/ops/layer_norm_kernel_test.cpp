// Layer norm against plain f64 loops: forward and every gradient, with and without weight and bias, odd and large rows.
#include "ops/nn/layer_norm_kernel.h"

#include "tests/ops/kernel_data.h"

namespace dyadic::test {
namespace {

using Values = std::vector<double>;

struct ExpectedNorm {
  Values y, mean, rstd, dx, dweight, dbias;
};

ExpectedNorm layer_norm(const Values& x, const Values& w, const Values& b, const Values& dy, int64_t rows, int64_t n,
                        double eps) {
  ExpectedNorm e{Values(rows * n), Values(rows), Values(rows), Values(rows * n), Values(n), Values(n)};
  for (int64_t r = 0; r < rows; r++) {
    double mean = 0, squares = 0, g_sum = 0, gh_sum = 0;
    for (int64_t j = 0; j < n; j++) mean += x[r * n + j] / n;
    for (int64_t j = 0; j < n; j++) squares += (x[r * n + j] - mean) * (x[r * n + j] - mean) / n;
    const double rstd = 1 / std::sqrt(squares + eps);
    e.mean[r] = mean;
    e.rstd[r] = rstd;
    for (int64_t j = 0; j < n; j++) {
      const double h = (x[r * n + j] - mean) * rstd, g = dy[r * n + j] * (w.empty() ? 1 : w[j]);
      e.y[r * n + j] = h * (w.empty() ? 1 : w[j]) + (b.empty() ? 0 : b[j]);
      e.dweight[j] += dy[r * n + j] * h;
      e.dbias[j] += dy[r * n + j];
      g_sum += g / n;
      gh_sum += g * h / n;
    }
    for (int64_t j = 0; j < n; j++) {
      const double h = (x[r * n + j] - mean) * rstd, g = dy[r * n + j] * (w.empty() ? 1 : w[j]);
      e.dx[r * n + j] = rstd * (g - g_sum - h * gh_sum);
    }
  }
  return e;
}

struct Case {
  LayerNormShape shape;
  Array x, w, b, dy, y, mean, rstd, dx, dw, db;

  Case(DType dtype, int64_t rows, int64_t n, uint64_t seed, DType parameter)
      : Case(dtype, rows, n, Numbers(seed), parameter, dtype == f64 ? f64 : f32) {}
  Case(DType dtype, int64_t rows, int64_t n, Numbers numbers, DType parameter, DType compute)
      : shape{rows, n},
        x(dtype, shifted(numbers.normals(rows * n, 2))),
        w(parameter, shifted(numbers.normals(n, 0.3))),
        b(parameter, numbers.normals(n)),
        dy(dtype, numbers.normals(rows * n)),
        y(dtype, rows * n),
        mean(compute, rows),
        rstd(compute, rows),
        dx(dtype, rows * n),
        dw(parameter, n),
        db(parameter, n) {}
  static Values shifted(Values v) {
    for (double& x : v) x += 1;
    return v;
  }

  void run(bool affine) {
    const Source none;
    const Source weight = affine ? w.source() : none, bias = affine ? b.source() : none;
    const LayerNormKernel& k = layer_norm_kernel();
    Workspace forward(k.forward_workspace(shape, weight, bias)), backward(k.backward_workspace(shape, x.source(), weight));
    k.forward(shape, x.source(), weight, bias, 1e-5, y.target(), mean.bytes.data(), rstd.bytes.data(), forward.data());
    k.backward(shape, dy.source(), x.source(), weight, mean.bytes.data(), rstd.bytes.data(), dx.target(), dw.target(),
               db.target(), backward.data());
  }
};

TEST(LayerNormKernel, MatchesPlainLoops) {
  struct {
    int64_t rows, n;
  } shapes[] = {{1, 1}, {5, 3}, {37, 65}, {300, 128}, {70, 384}, {3, 4096}, {2, 4097}, {1, 20001}, {0, 7}};
  for (DType dtype : {f32, f64, bf16, f16}) {
    for (auto s : shapes) {
      for (bool affine : {true, false}) {
        Case c(dtype, s.rows, s.n, 7, dtype);
        c.run(affine);
        const Values none;
        const ExpectedNorm want = layer_norm(c.x.values(), affine ? c.w.values() : none, affine ? c.b.values() : none,
                                             c.dy.values(), s.rows, s.n, 1e-5);
        // f32: rows of magnitude 3 are centred before they are squared, so errors are a few 2^-24 of the largest term.
        const double e = relative_error(dtype), absolute = dtype == f64 ? 1e-13 : 4e-6;
        expect_close(c.mean.values(), want.mean, dtype == f64 ? 1e-14 : 1e-6, absolute, "mean");
        expect_close(c.rstd.values(), want.rstd, dtype == f64 ? 1e-13 : 2e-6, 0, "rstd");
        expect_close(c.y.values(), want.y, e, absolute, "y");
        const double scale = s.n < 4 ? 400 : 1;  // rows of one to three: rstd is up to 1 / sqrt(eps)
        expect_close(c.dx.values(), want.dx, e, absolute * scale, "dx");
        expect_close(c.dw.values(), want.dweight, e, absolute * 5 * std::sqrt(s.rows + 1.0), "dweight");
        expect_close(c.db.values(), want.dbias, e, absolute * std::sqrt(s.rows + 1.0), "dbias");
      }
    }
  }
}

TEST(LayerNormKernel, LongRowsAndMixedFormats) {
  Case c(bf16, 2, 100003, 8, f32);
  c.run(true);
  const ExpectedNorm want = layer_norm(c.x.values(), c.w.values(), c.b.values(), c.dy.values(), 2, 100003, 1e-5);
  expect_close(c.mean.values(), want.mean, 1e-7, 1e-7, "mean");
  expect_close(c.rstd.values(), want.rstd, 3e-7, 0, "rstd");
  expect_close(c.y.values(), want.y, relative_error(bf16), 2e-6, "y");
  expect_close(c.dw.values(), want.dweight, 2e-6, 2e-6, "dweight");
}

TEST(LayerNormKernel, LargeMeanLosesNothing) {
  Numbers numbers(9);
  Values v(4096);
  for (double& x : v) x = 10000 + numbers.normal();
  const Array x(f32, v);
  Array y(f32, 4096), mean(f32, 1), rstd(f32, 1);
  layer_norm_kernel().forward({1, 4096}, x.source(), {}, {}, 0, y.target(), mean.bytes.data(), rstd.bytes.data(), nullptr);
  const ExpectedNorm want = layer_norm(x.values(), {}, {}, Values(4096), 1, 4096, 0);
  expect_close(rstd.values(), want.rstd, 1e-6, 0, "rstd");  // sum of squares minus square of the sum would be off by 1
}

TEST(LayerNormKernel, NaNStaysInItsRow) {
  for (double bad : {kNaN, kInf}) {
    Values v(3 * 5, 1.0);
    v[7] = bad;
    const Array x(f32, v);
    Array y(f32, 15), mean(f32, 3), rstd(f32, 3);
    layer_norm_kernel().forward({3, 5}, x.source(), {}, {}, 1e-5, y.target(), mean.bytes.data(), rstd.bytes.data(), nullptr);
    const Values got = y.values();
    for (int i = 0; i < 15; i++) EXPECT_EQ(std::isnan(got[i]), i / 5 == 1) << i;
  }
}

TEST(LayerNormKernel, OnlyWhatIsAskedFor) {
  Case c(f32, 50, 100, 10, f32);
  c.run(true);
  Workspace space(layer_norm_kernel().backward_workspace(c.shape, c.x.source(), c.w.source()));
  Array dx(f32, 5000), dw(f32, 100), db(f32, 100);
  auto backward = [&](Target x, Target w, Target b) {
    layer_norm_kernel().backward(c.shape, c.dy.source(), c.x.source(), c.w.source(), c.mean.bytes.data(), c.rstd.bytes.data(),
                                 x, w, b, space.data());
  };
  backward(dx.target(), {}, {});
  backward({}, dw.target(), {});
  backward({}, {}, db.target());
  EXPECT_EQ(dx.bytes, c.dx.bytes);
  EXPECT_EQ(dw.bytes, c.dw.bytes);
  EXPECT_EQ(db.bytes, c.db.bytes);
}

TEST(LayerNormKernel, SameBitsForAnyThreads) {
  for (DType dtype : {f32, bf16}) {
    expect_same_bits(
        [&] {
          Case c(dtype, 1031, 129, 11, dtype);
          c.run(true);
          auto all = c.y.bytes;
          for (const Array* a : {&c.dx, &c.dw, &c.db, &c.mean, &c.rstd})
            all.insert(all.end(), a->bytes.begin(), a->bytes.end());
          return all;
        },
        "layer_norm");
  }
}

}  // namespace
}  // namespace dyadic::test
