// Linear algebra beyond what records' samples say: gradients of complex and of Hermitian matrices, decompositions put together
// again, threads, and errors that name a matrix of a batch.
#include "dyadic/linalg.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "base/parallel.h"
#include "dyadic/autograd.h"

namespace dyadic {
namespace {

using Tensors = std::vector<Tensor>;

double largest_difference(const Tensor& a, const Tensor& b) { return amax(abs(a - b)).item(); }
Tensor mh(const Tensor& t) { return conj(t.transpose(-2, -1)); }
Tensor complex_matrix(IntList sizes) { return complex(randn(sizes, f64), randn(sizes, f64)); }
Tensor positive_definite(const Tensor& x) {
  return matmul(x, mh(x)) + eye(x.size(-2), {}, x.dtype()) * Scalar(double(x.size(-2)));
}
Tensor real_parts(const Tensor& t) { return t.dtype().is_complex() ? view_as_real(t) : t; }

// f on a matrix that is complex(re, im), so that differences are taken in real numbers; gradients of gradients too.
void check_complex(IntList sizes, const std::function<Tensors(const Tensor&)>& f) {
  manual_seed(5);
  const Tensors leaves = {randn(sizes, f64).requires_grad_(), randn(sizes, f64).requires_grad_()};
  auto real_f = [&](const Tensors& x) {
    Tensors out;
    for (const Tensor& t : f(complex(x[0], x[1]))) out.push_back(real_parts(t));
    return out;
  };
  EXPECT_NO_THROW(gradcheck(real_f, leaves));
  EXPECT_NO_THROW(gradgradcheck(real_f, leaves, 1e-6, 1e-4, 1e-3));
}
void check_real(IntList sizes, const std::function<Tensors(const Tensor&)>& f) {
  manual_seed(6);
  const Tensors leaves = {randn(sizes, f64).requires_grad_()};
  auto on_list = [&](const Tensors& x) { return f(x[0]); };
  EXPECT_NO_THROW(gradcheck(on_list, leaves));
  EXPECT_NO_THROW(gradgradcheck(on_list, leaves, 1e-6, 1e-4, 1e-3));
}

TEST(LinalgGradient, OfHermitianMatrices) {
  auto factor = [](const Tensor& x) { return Tensors{linalg::cholesky(positive_definite(x))}; };
  auto upper = [](const Tensor& x) { return Tensors{linalg::cholesky(positive_definite(x), true)}; };
  auto values = [](const Tensor& x) { return Tensors{linalg::eigvalsh(positive_definite(x))}; };
  // What does not depend on signs and phases: V f(L) V^H.
  auto square_root = [](const Tensor& x) {
    const auto [l, v] = linalg::eigh(positive_definite(x));
    return Tensors{l, matmul(mul(v, sqrt(unsqueeze(l, -2))), mh(v))};
  };
  for (const auto& f : std::vector<std::function<Tensors(const Tensor&)>>{factor, upper, values, square_root}) {
    check_real({3, 3}, f);
    check_complex({2, 2}, f);
    check_complex({2, 3, 3}, f);
  }
}

TEST(LinalgGradient, OfComplexMatrices) {
  check_complex({3, 3}, [](const Tensor& x) { return Tensors{linalg::inv(x)}; });
  check_complex({2, 3, 3}, [](const Tensor& x) { return Tensors{linalg::det(x)}; });
  check_complex({3, 3}, [](const Tensor& x) {
    const auto [sign, log] = linalg::slogdet(x);
    return Tensors{sign, log};
  });
  check_complex({3, 3}, [](const Tensor& x) { return Tensors{linalg::solve(x, narrow(x, -1, 0, 1))}; });
  check_complex({3, 3}, [](const Tensor& x) { return Tensors{linalg::solve_triangular(x, mh(x), true, false)}; });
  check_complex({3, 3}, [](const Tensor& x) { return Tensors{linalg::matrix_exp(x)}; });
  check_complex({2, 3}, [](const Tensor& x) { return Tensors{linalg::pinv(x)}; });
  check_complex({3, 2}, [](const Tensor& x) { return Tensors{linalg::lstsq(x, narrow(x, -1, 0, 1)).solution}; });
  check_complex({3, 3}, [](const Tensor& x) { return Tensors{linalg::matrix_norm(x, "nuc"), linalg::matrix_norm(x, 2)}; });
  check_complex({3, 3}, [](const Tensor& x) {
    const auto [p, l, u] = linalg::lu(x);
    return Tensors{l, u};
  });
  for (const std::vector<int64_t>& held : std::vector<std::vector<int64_t>>{{3, 2}, {2, 2}, {2, 3}}) {
    check_complex(held, [](const Tensor& x) {
      const auto [q, r] = linalg::qr(x);
      return Tensors{q, r};
    });
    // U f(S) Vh is free of phases.
    check_complex(held, [](const Tensor& x) {
      const auto [u, s, vh] = linalg::svd(x, false);
      return Tensors{s, matmul(mul(u, unsqueeze(square(s), -2)), vh)};
    });
  }
}

TEST(LinalgGradient, OfEigenvaluesAndProjections) {
  auto f = [](const Tensor& x) {
    const auto [l, v] = linalg::eig(x);
    const Tensor exponential = matmul(mul(v, unsqueeze(exp(l), -2)), linalg::inv(v));
    return Tensors{real(exponential), imag(exponential)};
  };
  check_real({3, 3}, f);
  check_complex({3, 3}, f);
  manual_seed(2);
  const Tensor x = randn({4, 4}, f64);
  EXPECT_LT(largest_difference(f(x)[0], linalg::matrix_exp(x)), 1e-11);
}

TEST(LinalgGradient, OfADeterminantThatIsZero) {
  for (const Tensor& a : {tensor({1, 2, 3, 2, 4, 6, 1, 0, 1}, f64).view({3, 3}), zeros({2, 2}, f64), ones({1, 1}, f64) * 0.0}) {
    Tensor leaf = a.clone().requires_grad_();
    EXPECT_NO_THROW(gradcheck([](const Tensors& x) { return Tensors{linalg::det(x[0])}; }, {leaf}));
  }
}

template <class F> void for_each_kind(F f) {
  manual_seed(1);
  for (int64_t m : {1, 2, 5, 40})
    for (int64_t n : {1, 3, 5, 33}) {
      f(randn({2, m, n}, f64));
      f(complex_matrix({2, m, n}));
    }
}

TEST(Linalg, DecompositionsPutTogetherAreTheMatrix) {
  for_each_kind([](const Tensor& a) {
    const Tensor one = eye(std::min(a.size(-1), a.size(-2)), {}, a.dtype());
    const auto [q, r] = linalg::qr(a);
    EXPECT_LT(largest_difference(matmul(q, r), a), 1e-12);
    EXPECT_LT(largest_difference(matmul(mh(q), q), one), 1e-12);
    EXPECT_EQ(largest_difference(tril(r, -1), zeros_like(r)), 0);
    const auto [u, s, vh] = linalg::svd(a, false);
    EXPECT_LT(largest_difference(matmul(mul(u, unsqueeze(s, -2)), vh), a), 1e-12);
    EXPECT_LT(largest_difference(matmul(mh(u), u), one), 1e-12);
    EXPECT_LT(largest_difference(matmul(vh, mh(vh)), one), 1e-12);
    EXPECT_LT(largest_difference(linalg::svdvals(a), s), 1e-12);
    const auto full = linalg::svd(a);
    EXPECT_LT(largest_difference(matmul(full.U, mh(full.U)), eye(a.size(-2), {}, a.dtype())), 1e-12);
    EXPECT_LT(largest_difference(matmul(full.Vh, mh(full.Vh)), eye(a.size(-1), {}, a.dtype())), 1e-12);
    const auto [p, l, up] = linalg::lu(a);
    EXPECT_LT(largest_difference(matmul(matmul(p, l), up), a), 1e-12);
    const Tensor inverse = linalg::pinv(a);
    EXPECT_LT(largest_difference(matmul(matmul(a, inverse), a), a), 1e-10);
  });
}

TEST(Linalg, EigenvectorsAreEigenvectors) {
  for_each_kind([](const Tensor& x) {
    const Tensor a = positive_definite(x);
    for (const char* uplo : {"L", "U"}) {
      const Tensor part = *uplo == 'L' ? tril(a) : triu(a);  // the other triangle is not read
      const auto [l, v] = linalg::eigh(part, uplo);
      EXPECT_LT(largest_difference(matmul(a, v), mul(v, unsqueeze(l, -2))), 1e-10);
      EXPECT_LT(largest_difference(matmul(mh(v), v), eye(a.size(-1), {}, a.dtype())), 1e-11);
      EXPECT_LT(largest_difference(linalg::eigvalsh(part, uplo), l), 1e-10);
    }
    const Tensor c = linalg::cholesky(a);
    EXPECT_LT(largest_difference(matmul(c, mh(c)), a), 1e-11);
    if (x.size(-1) != x.size(-2)) return;
    const auto [l, v] = linalg::eig(x);
    EXPECT_LT(largest_difference(matmul(x.to(c128), v), mul(v, unsqueeze(l, -2))), 1e-11);
  });
}

TEST(Linalg, PseudoInversesOfHermitianMatricesReadOneTriangle) {
  manual_seed(4);
  for (const Tensor& x : {randn({2, 4, 4}, f64), complex_matrix({3, 3})}) {
    const Tensor a = add(x, mh(x)), hidden = add(tril(a), mul(triu(x, 1), 100));
    const Tensor p = linalg::pinv(a, {}, {}, true);
    EXPECT_LT(largest_difference(p, linalg::pinv(a)), 1e-11);
    EXPECT_LT(largest_difference(p, linalg::pinv(hidden, {}, {}, true)), 1e-11);
    const Tensor g = mul(x, 0.5);
    auto slope = [&g](const Tensor& of, bool hermitian) {
      Tensor t = of.detach().clone().requires_grad_();
      const Tensor y = linalg::pinv(t, {}, {}, hermitian);
      return grad({&y, 1}, {&t, 1}, {&g, 1})[0];
    };
    EXPECT_LT(largest_difference(slope(a, true), slope(a, false)), 1e-10);
    EXPECT_LT(largest_difference(slope(hidden, true), slope(a, false)), 1e-10);
  }
}

TEST(Linalg, SolutionsSolve) {
  manual_seed(3);
  for (int64_t n : {1, 2, 7, 50}) {
    for (const Tensor& a : {randn({3, 1, n, n}, f64), complex_matrix({3, 1, n, n})}) {
      const Tensor b = a.dtype().is_complex() ? complex_matrix({2, n, 4}) : randn({2, n, 4}, f64);
      EXPECT_LT(largest_difference(matmul(a, linalg::solve(a, b)), b), 1e-10);
      const Tensor right = linalg::solve(a, mh(b), false);
      EXPECT_LT(largest_difference(matmul(right, a), mh(b)), 1e-10);
      EXPECT_LT(largest_difference(matmul(a, linalg::inv(a)), eye(n, {}, a.dtype())), 1e-10);
      const auto [lu, pivots] = linalg::lu_factor(a);
      for (bool left : {true, false})
        for (bool adjoint : {true, false}) {
          const Tensor rhs = left ? b : mh(b), m = adjoint ? mh(a) : a;
          const Tensor x = linalg::lu_solve(lu, pivots, rhs, left, adjoint);
          EXPECT_LT(largest_difference(left ? matmul(m, x) : matmul(x, m), rhs), 1e-10) << left << adjoint;
        }
      for (const char* driver : {"gels", "gelsy", "gelsd", "gelss"})
        EXPECT_LT(largest_difference(linalg::lstsq(a, b, {}, driver).solution, linalg::solve(a, b)), 1e-8) << driver;
    }
  }
}

// Halves meet in products.
TEST(Linalg, LargeMatricesByHalves) {
  manual_seed(9);
  for (int64_t m : {65, 130, 201})
    for (int64_t n : {64, 129, 200}) {
      const Tensor a = randn({m, n}, f64);
      const auto [p, l, u] = linalg::lu(a);
      EXPECT_LT(largest_difference(matmul(matmul(p, l), u), a), 1e-11) << m << " " << n;
      const Tensor square = positive_definite(a), b = randn({m, n}, f64), lower = linalg::cholesky(square);
      EXPECT_LT(largest_difference(matmul(lower, lower.t()), square), 1e-9) << m;
      EXPECT_EQ(largest_difference(linalg::cholesky(square, true), lower.t()), 0) << m;
      EXPECT_LT(largest_difference(matmul(square, linalg::solve(square, b)), b), 1e-9) << m;
      EXPECT_LT(largest_difference(matmul(square, linalg::inv(square)), eye(m, {}, f64)), 1e-9) << m;
      for (bool upper : {true, false})
        for (bool left : {true, false}) {
          const Tensor part = upper ? lower.t() : lower, rhs = left ? b : b.t();
          const Tensor x = linalg::solve_triangular(part, rhs, upper, left);
          EXPECT_LT(largest_difference(left ? matmul(part, x) : matmul(x, part), rhs), 1e-9) << upper << left;
        }
      const auto [sign, log] = linalg::slogdet(square);
      EXPECT_EQ(sign.item(), 1);
      EXPECT_LT(std::abs(log.item() - 2 * sum(dyadic::log(diagonal(lower))).item()), 1e-9);
    }
  Tensor a = positive_definite(randn({150, 150}, f64));
  a.index_put_({100, 100}, -1.0);
  EXPECT_EQ(linalg::cholesky_ex(a).info.item(), 101);
  a = eye(150, {}, f64);
  a.index_put_({120, 120}, 0.0);
  EXPECT_EQ(linalg::inv_ex(a).info.item(), 121);
}

// Shapes that the halves of the columns reach only at one end, numbers of every kind; pivots keep L's entries at 1 at most.
TEST(Linalg, FactorsOfEveryShape) {
  manual_seed(11);
  for (int64_t m : {1, 5, 16, 17, 100, 300})
    for (int64_t n : {1, 5, 16, 17, 100, 300})
      for (DType d : {f32, f64, c64, c128}) {
        const Tensor a = (d.is_complex() ? complex_matrix({2, m, n}) : randn({2, m, n}, f64)).to(d);
        const auto [p, l, u] = linalg::lu(a);
        const double eps = d.to_real() == f32 ? 1e-5 : 1e-13;
        EXPECT_LT(largest_difference(matmul(matmul(p, l), u), a), eps * std::sqrt(double(std::min(m, n)))) << m << " " << n;
        EXPECT_LE(amax(abs(l)).item(), d.is_complex() ? 1.4143 : 1) << m << " " << n;
      }
}

TEST(Linalg, SameBitsForAnyNumberOfThreads) {
  manual_seed(4);
  const Tensor a = randn({37, 20, 20}), b = complex_matrix({5, 30, 30}), large = randn({1, 300, 300});
  auto run = [&] {
    std::string bytes;
    auto take = [&](const Tensor& t) { bytes.append(static_cast<const char*>(t.contiguous().data_ptr()), size_t(t.nbytes())); };
    take(linalg::inv(large));
    take(linalg::lu_factor(large).LU);
    for (const Tensor& t : {a, b}) {
      take(linalg::inv(t));
      take(linalg::det(t));
      take(linalg::qr(t).Q);
      take(linalg::svd(t).Vh);
      take(linalg::eigh(t).eigenvectors);
      take(linalg::eig(t).eigenvectors);
      take(linalg::matrix_exp(t));
      take(linalg::solve(t, t));
      take(linalg::lstsq(t, t).solution);
    }
    return bytes;
  };
  const int before = num_threads();
  set_num_threads(1);
  const std::string one = run();
  for (int threads : {2, 3, 7}) {
    set_num_threads(threads);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(run() == one) << threads;
  }
  set_num_threads(before);
}

std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const LinAlgError& e) { return e.what(); }
  return "no LinAlgError";
}

TEST(Linalg, ErrorsNameTheMatrix) {
  Tensor batch = eye(3).expand({2, 2, 3, 3}).clone();
  batch.index_put_({1, 0, 2, 2}, 0.0);
  EXPECT_EQ(message([&] { linalg::inv(batch); }),
            "linalg.inv: the matrix is singular: A is f32[2, 2, 3, 3], batch element [1, 0]: element 3 of the diagonal of U is "
            "zero; use linalg.pinv or linalg.lstsq");
  EXPECT_EQ(
      message([&] { linalg::cholesky(batch.to(bf16)); }),
      "linalg.cholesky: not positive definite: self is bf16[2, 2, 3, 3], batch element [1, 0]: its leading minor of order 3 "
      "is not; add a little to its diagonal, or use linalg.eigh");
  const Tensor nan = full({2, 2}, NAN);
  EXPECT_EQ(message([&] { linalg::eig(nan); }), "linalg.eig: NaN or infinities: A is f32[2, 2], matrix 0 of the batch");
  EXPECT_NE(message([&] { linalg::svd(nan); }), "no LinAlgError");
  EXPECT_EQ(linalg::inv_ex(batch).info.to_vector(), (std::vector<double>{0, 0, 3, 0}));
  EXPECT_EQ(linalg::cond(batch, 1).to_vector(), (std::vector<double>{1, 1, INFINITY, 1}));
  EXPECT_EQ(linalg::matrix_rank(batch).to_vector(), (std::vector<double>{3, 3, 2, 3}));
}

TEST(Linalg, NarrowFloatsComputeInF32) {
  manual_seed(8);
  const Tensor a = positive_definite(randn({4, 4}, f64)).to(bf16);
  EXPECT_EQ(linalg::inv(a).dtype(), bf16);
  EXPECT_EQ(largest_difference(linalg::inv(a).to(f32), linalg::inv(a.to(f32)).to(bf16).to(f32)), 0);
}

}  // namespace
}  // namespace dyadic
