// Complex numbers as dtypes: values against std::complex<double>, gradients against differences of the real pairs.
#include <gtest/gtest.h>

#include <complex>
#include <functional>

#include "dyadic/autograd.h"
#include "dyadic/dyadic.h"

namespace dyadic {
namespace {

using C = std::complex<double>;

Tensor pairs(uint64_t seed, std::vector<int64_t> sizes, DType d = f64) {
  manual_seed(seed);
  sizes.push_back(2);
  return randn(sizes, d);
}
std::vector<C> complex_values(const Tensor& t) {
  const std::vector<double> v = view_as_real(t.to(c128).contiguous()).to_vector();
  std::vector<C> out;
  for (size_t i = 0; i < v.size(); i += 2) out.emplace_back(v[i], v[i + 1]);
  return out;
}
void expect_near(const Tensor& actual, const std::vector<C>& expected, double eps) {
  const std::vector<C> a = complex_values(actual);
  ASSERT_EQ(a.size(), expected.size());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_LE(std::abs(a[i] - expected[i]), eps * std::max(1.0, std::abs(expected[i]))) << i;
}

TEST(Complex, QuotientsAndPowersOfZeroArePyTorchs) {
  const Tensor zero = complex(zeros({3}), zeros({3})), one = complex(tensor({1., 0, 2}), tensor({1., 0, 0}));
  EXPECT_EQ((one / zero).str(), "tensor([inf+infj, nan+nanj, inf+nanj])");
  EXPECT_EQ(reciprocal(zero).str(), "tensor([inf+nanj, inf+nanj, inf+nanj])");
  const Tensor powers = complex(tensor({0., 1, -1}), tensor({1., 1, 0}));
  EXPECT_EQ(pow(zero, powers).str(), "tensor([nan+nanj, 0.+0.j, inf+nanj])");
  EXPECT_EQ(pow(zero, 0).str(), "tensor([1.+0.j, 1.+0.j, 1.+0.j])");
}

TEST(Complex, ElementwiseAsTheStandardLibrary) {
  for (DType d : {c64, c128}) {
    const double eps = d == c64 ? 1e-6 : 1e-14;
    for (int64_t n : {1, 7, 16, 1031}) {
      const Tensor x = view_as_complex(pairs(1, {n}, d.to_real())), y = view_as_complex(pairs(2, {n}, d.to_real()));
      const std::vector<C> a = complex_values(x), b = complex_values(y);
      auto check = [&](const Tensor& r, auto f) {
        EXPECT_EQ(r.dtype(), d);
        std::vector<C> e;
        for (size_t i = 0; i < a.size(); ++i) e.push_back(f(a[i], b[i]));
        expect_near(r, e, eps);
      };
      check(x + y, [](C p, C q) { return p + q; });
      check(x - y, [](C p, C q) { return p - q; });
      check(x * y, [](C p, C q) { return p * q; });
      check(x / y, [](C p, C q) { return p / q; });
      check(-x, [](C p, C) { return -p; });
      check(square(x), [](C p, C) { return p * p; });
      check(reciprocal(x), [](C p, C) { return 1.0 / p; });
      check(conj(x), [](C p, C) { return std::conj(p); });
      check(exp(x), [](C p, C) { return std::exp(p); });
      check(sqrt(x), [](C p, C) { return std::sqrt(p); });
      check(log(x), [](C p, C) { return std::log(p); });
      check(log1p(x), [](C p, C) { return std::log(1.0 + p); });
      check(expm1(x), [](C p, C) { return std::exp(p) - 1.0; });
      check(sin(x), [](C p, C) { return std::sin(p); });
      check(cos(x), [](C p, C) { return std::cos(p); });
      check(tan(x), [](C p, C) { return std::tan(p); });
      check(sinh(x), [](C p, C) { return std::sinh(p); });
      check(cosh(x), [](C p, C) { return std::cosh(p); });
      check(tanh(x), [](C p, C) { return std::tanh(p); });
      check(asin(x), [](C p, C) { return std::asin(p); });
      check(acos(x), [](C p, C) { return std::acos(p); });
      check(atan(x), [](C p, C) { return std::atan(p); });
      check(asinh(x), [](C p, C) { return std::asinh(p); });
      check(acosh(x), [](C p, C) { return std::acosh(p); });
      check(atanh(x), [](C p, C) { return std::atanh(p); });
      check(pow(x, y), [](C p, C q) { return std::pow(p, q); });
      check(pow(x, 3), [](C p, C) { return p * p * p; });
      check(sign(x), [](C p, C) { return p / std::abs(p); });
      check(rsqrt(x), [](C p, C) { return 1.0 / std::sqrt(p); });
      check(x * Scalar(C(0.5, -2)), [](C p, C) { return p * C(0.5, -2); });
      check(where(eq(x, y), y, x), [](C p, C) { return p; });
      EXPECT_EQ(abs(x).dtype(), d.to_real());
      expect_near(
          abs(x),
          [&] {
            std::vector<C> e;
            for (C p : a) e.emplace_back(std::abs(p));
            return e;
          }(),
          eps);
    }
  }
}

TEST(Complex, QuotientsAndSizesDoNotOverflowOnTheWay) {
  auto one = [](double re, double im) { return complex(full({1}, re, f64), full({1}, im, f64)); };
  expect_near(one(1e308, 1e308) / one(1e308, 1e308), {C(1, 0)}, 1e-15);
  expect_near(one(1e-308, 1e-308) / one(1e-308, -1e-308), {C(0, 1)}, 1e-15);
  EXPECT_NEAR(abs(one(3e300, 4e300)).item() / 5e300, 1, 1e-15);
  EXPECT_NEAR(abs(one(3e-300, 4e-300)).item() / 5e-300, 1, 1e-15);
  EXPECT_EQ(abs(one(INFINITY, NAN)).item(), INFINITY);
  EXPECT_TRUE(std::isnan(abs(one(1, NAN)).item()));
  EXPECT_EQ(abs(one(0, -0.0)).item(), 0);
  EXPECT_TRUE(isnan(one(1, NAN)).item<bool>());
  EXPECT_FALSE(isfinite(one(-INFINITY, 0)).item<bool>());
  expect_near(sqrt(one(-4, 0.0)), {C(0, 2)}, 1e-15);
  expect_near(sqrt(one(-4, -0.0)), {C(0, -2)}, 1e-15);
  expect_near(exp(one(-INFINITY, 3)), {C(0, 0)}, 0);
}

TEST(Complex, ReductionsAndProducts) {
  const Tensor x = view_as_complex(pairs(3, {5, 4, 3})), y = view_as_complex(pairs(4, {3, 6}));
  const std::vector<C> a = complex_values(x);
  C total = 0, product = 1;
  for (C p : a) total += p, product *= p;
  expect_near(sum(x), {total}, 1e-13);
  expect_near(mean(x), {total / 60.0}, 1e-14);
  EXPECT_NEAR(std::abs(prod(x).item<C>() / product - 1.0), 0, 1e-12);
  EXPECT_TRUE(sum(x, {1}, true).sizes() == IntList({5, 1, 3}));
  EXPECT_TRUE(prod(x, {0, -1}).sizes() == IntList({4}));
  expect_near(prod(zeros({2, 0}, c64), {1}), {1, 1}, 0);
  expect_near(sum(zeros({2, 0}, c64), {1}), {0, 0}, 0);
  expect_near(sum(complex(full({}, 2.0), full({}, 1.0))), {C(2, 1)}, 0);
}

TEST(Complex, MatrixProducts) {
  const Tensor x = view_as_complex(pairs(5, {2, 5, 3})), y = view_as_complex(pairs(6, {3, 6}));
  std::vector<C> a = complex_values(x), b = complex_values(y), e;
  for (int64_t i = 0; i < 10; ++i)
    for (int64_t j = 0; j < 6; ++j) {
      C s = 0;
      for (int64_t k = 0; k < 3; ++k) s += a[size_t(i * 3 + k)] * b[size_t(k * 6 + j)];
      e.push_back(s);
    }
  expect_near(matmul(x, y), e, 1e-14);
  expect_near(linear(x, y.t()), e, 1e-14);
  expect_near(matmul(real(x), y) + matmul(imag(x), y * Scalar(0.0, 1.0)), e, 1e-14);
}

// Sizes around the tiles, operands that lie in every way, against products of parts.
TEST(Complex, ProductsAreThoseOfTheParts) {
  manual_seed(12);
  auto by_parts = [](const Tensor& x, const Tensor& y) {
    return complex(matmul(real(x), real(y)) - matmul(imag(x), imag(y)), matmul(real(x), imag(y)) + matmul(imag(x), real(y)));
  };
  for (DType d : {c64, c128})
    for (int64_t m : {1, 2, 5, 33, 150})
      for (int64_t n : {1, 3, 17, 64})
        for (int64_t k : {1, 4, 31, 256}) {
          auto make = [&](IntList sizes) { return complex(randn(sizes, d.to_real()), randn(sizes, d.to_real())); };
          const Tensor x = make({2, m, k}), y = make({k, n}), xt = make({2, k, m}).transpose(1, 2), yt = make({n, k}).t();
          const Tensor spread = slice(make({2, m, 2 * k}), 2, 0, 2 * k, 2);
          const double allowed = (d == c64 ? 1e-6 : 2e-15) * std::sqrt(double(k)) * 8;
          for (const Tensor& a : {x, xt, spread})
            for (const Tensor& b : {y, yt}) EXPECT_LT(amax(abs(matmul(a, b) - by_parts(a, b))).item(), allowed) << m << n << k;
        }
}

TEST(Complex, Truth) {
  const Tensor x = complex(tensor({0, 0, 3}, f32), tensor({0, 2, 0}, f32));
  EXPECT_EQ(x.to(boolean).to_vector(), (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(logical_not(x).to_vector(), (std::vector<double>{1, 0, 0}));
  EXPECT_TRUE(any(x).item<bool>());
  EXPECT_FALSE(all(x).item<bool>());
  EXPECT_TRUE(ne(x, 0).to_vector() == (std::vector<double>{0, 1, 1}));
}

TEST(Complex, PromotionAndConversion) {
  const Tensor z = complex(tensor({1.5, -2}, f32), tensor({0.25, 3}, f32));
  EXPECT_EQ((z + tensor({1, 2}, f64)).dtype(), c128);
  EXPECT_EQ((z + full({}, 1, f64)).dtype(), c64);
  EXPECT_EQ((ones({2}, i32) * Scalar(0.0, 1.0)).dtype(), c64);
  EXPECT_EQ((ones({2}, f64) * Scalar(0.0, 1.0)).dtype(), c128);
  EXPECT_EQ((ones({2}, f8e4m3fn) * z).dtype(), c64);
  EXPECT_EQ((ones({2}, i4) * z).dtype(), c64);
  EXPECT_EQ(z.to(f32).to_vector(), (std::vector<double>{1.5, -2}));
  EXPECT_EQ(z.to(bf16).to_vector(), (std::vector<double>{1.5, -2}));
  EXPECT_EQ(z.to(i8).to_vector(), (std::vector<double>{1, -2}));
  EXPECT_EQ(complex_values(tensor({1, 2}, bf16).to(c128)), (std::vector<C>{1, 2}));
  EXPECT_EQ(full({2}, Scalar(1.0, -1.0)).dtype(), c64);
  EXPECT_EQ(cast(full({1}, Scalar(1e300, -1e300), c128), c64, "nearest", "saturate").item<C>(),
            C(0x1.fffffep127, -0x1.fffffep127));
  EXPECT_EQ(c64.name(), "c64");
  EXPECT_EQ(DType::parse("complex128"), c128);
  EXPECT_THROW(ones({2}, f32).add_(z), Error);
  EXPECT_THROW(lt(z, z), TypeError);
  EXPECT_THROW(softmax(z), TypeError);
  EXPECT_THROW(argmax(z), TypeError);
}

TEST(Complex, PartsAreViews) {
  Tensor z = zeros({2, 3}, c64);
  real(z).fill_(2);
  imag(z).t().copy_(arange(0, 6, 1, f32).view({3, 2}));
  EXPECT_EQ(complex_values(z), (std::vector<C>{{2, 0}, {2, 2}, {2, 4}, {2, 1}, {2, 3}, {2, 5}}));
  EXPECT_TRUE(view_as_real(z.t()).strides() == IntList({2, 6, 1}));
  EXPECT_TRUE(complex_values(view_as_complex(view_as_real(z)).t().contiguous()) == complex_values(z.t()));
}

TEST(Complex, Printing) {
  EXPECT_EQ(complex(tensor({1, -0.5, 0}, f32), tensor({2, 0, 3e-5}, f32)).str(),
            "tensor([ 1.0000+2.0000e+00j, -0.5000+0.0000e+00j,  0.0000+3.0000e-05j])");
  EXPECT_EQ(complex(tensor({1, 3}, f64), tensor({2, 0}, f64)).str(), "tensor([1.+2.j, 3.+0.j], dtype=dyadic.complex128)");
  EXPECT_EQ(complex(full({}, 1.5), full({}, -2.25)).str(), "tensor(1.5000-2.2500j)");
  EXPECT_EQ(complex(tensor({1, 2}, f32), tensor({2, -3.5}, f32)).view({2, 1}).str(),
            "tensor([[1.+2.0000j],\n        [2.-3.5000j]])");
  EXPECT_EQ(complex(tensor({NAN}, f32), tensor({INFINITY}, f32)).str(), "tensor([nan+infj])");
  EXPECT_EQ(complex(tensor({1e10, 2}, f32), tensor({1, 0}, f32)).view({1, 2}).str(),
            "tensor([[1.0000e+10+1.j, 2.0000e+00+0.j]])");
}

// f is seen as a function of real pairs.
void check_gradient(std::function<Tensor(const Tensor&)> f, std::vector<int64_t> sizes = {2, 3}) {
  const Tensor x = pairs(9, sizes).requires_grad_();
  EXPECT_NO_THROW(gradcheck(
      [&](const std::vector<Tensor>& in) {
        const Tensor r = f(view_as_complex(in[0]));
        return std::vector<Tensor>{r.dtype().is_complex() ? view_as_real(r) : r};
      },
      {x}));
}
TEST(Complex, Gradients) {
  const Tensor w = view_as_complex(pairs(10, {2, 3})), m = view_as_complex(pairs(11, {3, 4}));
  check_gradient([&](const Tensor& z) { return z * w + z * z; });
  check_gradient([&](const Tensor& z) { return w / z; });
  check_gradient([&](const Tensor& z) { return z / w - 2 * z; });
  check_gradient([&](const Tensor& z) { return square(z) + reciprocal(z); });
  check_gradient([&](const Tensor& z) { return conj(z) * z; });
  check_gradient([&](const Tensor& z) { return abs(z); });
  check_gradient([&](const Tensor& z) { return exp(z) + sqrt(z); });
  check_gradient([&](const Tensor& z) { return real(z) * imag(z); });
  check_gradient([&](const Tensor& z) { return matmul(z, m); });
  check_gradient([&](const Tensor& z) { return sum(z, {0}) + mean(z, {0}) + prod(z, {0}); });
  check_gradient([&](const Tensor& z) { return real(z) * w; });  // a real input of a complex op
  check_gradient([&](const Tensor& z) { return var(z, {1}); });
}

TEST(Complex, GradientOfTheGradient) {
  const Tensor w = view_as_complex(pairs(12, {3})), x = pairs(13, {3}).requires_grad_();
  auto gradient = [&](const std::vector<Tensor>& in) {
    const Tensor z = view_as_complex(in[0]), y = z * z * w / (z + 3);
    const Tensor roots[] = {sum(real(y) + imag(y))};
    return grad(roots, in, {}, false, true);
  };
  EXPECT_NO_THROW(gradcheck(gradient, {x}, 1e-5, 1e-4, 1e-3));
}

TEST(Complex, RandomNumbersHaveVarianceOne) {
  manual_seed(1);
  const Tensor z = randn({1 << 16}, c64);
  EXPECT_NEAR(mean(square(abs(z))).item(), 1, 0.02);
  EXPECT_NEAR(var(real(z)).item(), 0.5, 0.02);
  EXPECT_LT(rand({1000}, c128).to(f64).to_vector()[5], 1);
}

TEST(Unsigned64, ValuesFrom2To63On) {
  const Tensor x = full({3}, Scalar(size_t(18446744073709551615u)), u64);
  EXPECT_EQ(x.str(), "tensor([18446744073709551615, 18446744073709551615, 18446744073709551615],\n       dtype=dyadic.uint64)");
  EXPECT_EQ(uint64_t(amax(x).item_scalar().integer()), UINT64_MAX);
  EXPECT_EQ((x + 2).to(i64).to_vector(), (std::vector<double>{1, 1, 1}));
  EXPECT_TRUE(all(gt(x, 5)).item<bool>());
  EXPECT_EQ(x.to(f64).to_vector()[0], 0x1p64);
  EXPECT_EQ(x.to(f16).to_vector()[0], INFINITY);
  EXPECT_EQ(x.to(i64).to_vector()[0], -1);
  EXPECT_EQ(full({1}, 1.5e19, f64).to(u64).item_scalar().real(), 1.5e19);
  EXPECT_EQ(cast(tensor({-5, 1e30, NAN}, f64), u64, "nearest", "saturate").to(f64).to_vector(),
            (std::vector<double>{0, 0x1p64, 0}));
  EXPECT_EQ(cast(x, i8, "nearest", "saturate").to_vector(), (std::vector<double>{127, 127, 127}));
}

}  // namespace
}  // namespace dyadic
