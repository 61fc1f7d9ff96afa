// The routines of BLAS that LAPACK calls, by the names it calls them, against sums written out: every side, triangle and
// transposition, sizes around the blocks, steps forwards and backwards, columns further apart than they are long.
#include <gtest/gtest.h>

#include <complex>
#include <vector>

#include "base/parallel.h"
#include "tests/ops/kernel_data.h"

namespace dyadic {
namespace {

using C64 = std::complex<float>;
using C128 = std::complex<double>;

template <class T> inline constexpr bool kComplex = false;
template <class R> inline constexpr bool kComplex<std::complex<R>> = true;
template <class T> struct RealOf {
  using type = T;
};
template <class R> struct RealOf<std::complex<R>> {
  using type = R;
};

// The routines of one type.
#define DY_DECLARE(T, R, gemm_, gemv_, ger_, gerc_, hemv_, trmm_, trsm_, herk_, her2k_)                                        \
  extern "C" {                                                                                                                 \
  void gemm_(const char*, const char*, const int*, const int*, const int*, const T*, const T*, const int*, const T*,           \
             const int*, const T*, T*, const int*, size_t, size_t);                                                            \
  void gemv_(const char*, const int*, const int*, const T*, const T*, const int*, const T*, const int*, const T*, T*,          \
             const int*, size_t);                                                                                              \
  void ger_(const int*, const int*, const T*, const T*, const int*, const T*, const int*, T*, const int*);                     \
  void hemv_(const char*, const int*, const T*, const T*, const int*, const T*, const int*, const T*, T*, const int*, size_t); \
  void trmm_(const char*, const char*, const char*, const char*, const int*, const int*, const T*, const T*, const int*, T*,   \
             const int*, size_t, size_t, size_t, size_t);                                                                      \
  void trsm_(const char*, const char*, const char*, const char*, const int*, const int*, const T*, const T*, const int*, T*,   \
             const int*, size_t, size_t, size_t, size_t);                                                                      \
  void herk_(const char*, const char*, const int*, const int*, const R*, const T*, const int*, const R*, T*, const int*,       \
             size_t, size_t);                                                                                                  \
  void her2k_(const char*, const char*, const int*, const int*, const T*, const T*, const int*, const T*, const int*,          \
              const R*, T*, const int*, size_t, size_t);                                                                       \
  }                                                                                                                            \
  template <> struct Blas<T> {                                                                                                 \
    static constexpr auto gemm = gemm_;                                                                                        \
    static constexpr auto gemv = gemv_;                                                                                        \
    static constexpr auto ger = gerc_;                                                                                         \
    static constexpr auto hemv = hemv_;                                                                                        \
    static constexpr auto trmm = trmm_;                                                                                        \
    static constexpr auto trsm = trsm_;                                                                                        \
    static constexpr auto herk = herk_;                                                                                        \
    static constexpr auto her2k = her2k_;                                                                                      \
  };
}  // namespace
template <class T> struct Blas;
extern "C" {
void cgerc_(const int*, const int*, const C64*, const C64*, const int*, const C64*, const int*, C64*, const int*);
void zgerc_(const int*, const int*, const C128*, const C128*, const int*, const C128*, const int*, C128*, const int*);
}
DY_DECLARE(float, float, sgemm_, sgemv_, sger_, sger_, ssymv_, strmm_, strsm_, ssyrk_, ssyr2k_)
DY_DECLARE(double, double, dgemm_, dgemv_, dger_, dger_, dsymv_, dtrmm_, dtrsm_, dsyrk_, dsyr2k_)
DY_DECLARE(C64, float, cgemm_, cgemv_, cgeru_, cgerc_, chemv_, ctrmm_, ctrsm_, cherk_, cher2k_)
DY_DECLARE(C128, double, zgemm_, zgemv_, zgeru_, zgerc_, zhemv_, ztrmm_, ztrsm_, zherk_, zher2k_)

namespace {

template <class T> T conjugate(T x) {
  if constexpr (kComplex<T>) return std::conj(x);
  return x;
}

// By columns, a few elements further apart than they need.
template <class T> struct Matrix {
  int rows, cols, ld;
  std::vector<T> v;
  Matrix(int m, int n, uint64_t seed) : rows(m), cols(n), ld(m + 3), v(size_t(ld) * size_t(n) + 1) {
    test::Numbers r(seed);
    for (T& x : v) {
      if constexpr (kComplex<T>)
        x = T(typename T::value_type(r.normal()), typename T::value_type(r.normal()));
      else
        x = T(r.normal());
    }
  }
  T& at(int i, int j) { return v[size_t(j) * size_t(ld) + size_t(i)]; }
  T op(char trans, int i, int j) { return trans == 'N' ? at(i, j) : trans == 'T' ? at(j, i) : conjugate(at(j, i)); }
  // A triangle, made well conditioned.
  T triangle(char uplo, char diag, int i, int j) {
    if (i == j) return diag == 'U' ? T(1) : at(i, i);
    return (uplo == 'L') == (i > j) ? at(i, j) : T(0);
  }
};

template <class T> void expect_equal(Matrix<T>& got, Matrix<T>& want, double scale, const std::string& what) {
  const double tolerance = scale * (sizeof(typename RealOf<T>::type) == 4 ? 3e-6 : 1e-14);
  for (size_t i = 0; i < got.v.size(); i++) ASSERT_LT(std::abs(got.v[i] - want.v[i]), tolerance) << what << ", element " << i;
}

template <class T> class BlasTest : public testing::Test {
 public:
  static inline const T alpha = T(0.7), beta = T(-1.5);
  using R = typename RealOf<T>::type;
  static std::string turns() { return kComplex<T> ? "NTC" : "NT"; }
};
using Types = testing::Types<float, double, C64, C128>;
TYPED_TEST_SUITE(BlasTest, Types);

TYPED_TEST(BlasTest, ProductsOfMatrices) {
  using T = TypeParam;
  for (auto [m, n, k] : {std::tuple{1, 1, 1}, {5, 7, 3}, {33, 65, 17}, {70, 30, 300}, {4, 3, 0}, {0, 3, 4}}) {
    for (char ta : this->turns())
      for (char tb : this->turns())
        for (T beta : {T(0), T(1), this->beta}) {
          Matrix<T> a(ta == 'N' ? m : k, ta == 'N' ? k : m, 1), b(tb == 'N' ? k : n, tb == 'N' ? n : k, 2), c(m, n, 3);
          if (beta == T(0)) c.at(0, 0) = std::numeric_limits<typename RealOf<T>::type>::quiet_NaN();
          Matrix<T> want = c;
          for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) {
              T sum(0);
              for (int p = 0; p < k; p++) sum += a.op(ta, i, p) * b.op(tb, p, j);
              want.at(i, j) = this->alpha * sum + (beta == T(0) ? T(0) : beta * c.at(i, j));
            }
          Blas<T>::gemm(&ta, &tb, &m, &n, &k, &this->alpha, a.v.data(), &a.ld, b.v.data(), &b.ld, &beta, c.v.data(), &c.ld, 1,
                        1);
          if (m && n) expect_equal(c, want, 1 + k, std::string("gemm ") + ta + tb);
        }
  }
}

TYPED_TEST(BlasTest, MatrixTimesVector) {
  using T = TypeParam;
  for (auto [m, n] : {std::pair{1, 1}, {7, 5}, {40, 19}, {600, 33}, {35, 700}})
    for (char t : this->turns())
      for (auto [xs, ys] : {std::pair{1, 1}, {1, -2}, {3, 1}, {-2, 2}}) {
        const int in = t == 'N' ? n : m, out = t == 'N' ? m : n;
        Matrix<T> a(m, n, 4), x(in * std::abs(xs), 1, 5), y(out * std::abs(ys), 1, 6), want = y;
        auto at = [](int i, int count, int step) { return step > 0 ? i * step : (count - 1 - i) * -step; };
        for (int i = 0; i < out; i++) {
          T sum(0);
          for (int j = 0; j < in; j++) sum += a.op(t, i, j) * x.v[size_t(at(j, in, xs))];
          T& to = want.v[size_t(at(i, out, ys))];
          to = this->alpha * sum + this->beta * to;
        }
        Blas<T>::gemv(&t, &m, &n, &this->alpha, a.v.data(), &a.ld, x.v.data(), &xs, &this->beta, y.v.data(), &ys, 1);
        expect_equal(y, want, 1 + in, std::string("gemv ") + t);
      }
}

TYPED_TEST(BlasTest, OuterAndHermitianProducts) {
  using T = TypeParam;
  for (int n : {1, 2, 7, 33, 130})
    for (int step : {1, 2, -1}) {
      const int m = n + 3;
      auto at = [&](int i, int count) { return size_t(step > 0 ? i * step : (count - 1 - i) * -step); };
      Matrix<T> x(m * std::abs(step), 1, 7), y(n * std::abs(step), 1, 8), a(m, n, 9), want = a;
      for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) want.at(i, j) += this->alpha * x.v[at(i, m)] * conjugate(y.v[at(j, n)]);
      Blas<T>::ger(&m, &n, &this->alpha, x.v.data(), &step, y.v.data(), &step, a.v.data(), &a.ld);
      expect_equal(a, want, 10, "ger");
      for (char uplo : {'L', 'U'}) {
        Matrix<T> h(n, n, 10), z(n * std::abs(step), 1, 11), sum = z;
        auto entry = [&](int i, int j) -> T {
          if (i == j) return T(std::real(h.at(i, i)));
          return (uplo == 'L') == (i > j) ? h.at(i, j) : conjugate(h.at(j, i));
        };
        for (int i = 0; i < n; i++) {
          T s(0);
          for (int j = 0; j < n; j++) s += entry(i, j) * y.v[at(j, n)];
          sum.v[at(i, n)] = this->alpha * s + this->beta * z.v[at(i, n)];
        }
        Blas<T>::hemv(&uplo, &n, &this->alpha, h.v.data(), &h.ld, y.v.data(), &step, &this->beta, z.v.data(), &step, 1);
        expect_equal(z, sum, 1 + n, "hemv");
      }
    }
}

TYPED_TEST(BlasTest, TriangularMatrices) {
  using T = TypeParam;
  for (auto [m, n] : {std::pair{1, 1}, {5, 9}, {16, 70}, {35, 20}, {20, 70}, {67, 40}})
    for (char side : {'L', 'R'})
      for (char uplo : {'L', 'U'})
        for (char t : this->turns())
          for (char diag : {'N', 'U'}) {
            const int k = side == 'L' ? m : n;
            Matrix<T> a(k, k, 12), b(m, n, 13);
            for (int j = 0; j < k; j++)
              for (int i = 0; i < k; i++) a.at(i, j) = i == j ? a.at(i, i) + T(3) : a.at(i, j) * T(0.5 / k);
            auto entry = [&](int i, int j) {  // of op(A)
              return t == 'N'   ? a.triangle(uplo, diag, i, j)
                     : t == 'T' ? a.triangle(uplo, diag, j, i)
                                : conjugate(a.triangle(uplo, diag, j, i));
            };
            Matrix<T> product = b;
            for (int j = 0; j < n; j++)
              for (int i = 0; i < m; i++) {
                T sum(0);
                for (int p = 0; p < k; p++) sum += side == 'L' ? entry(i, p) * b.at(p, j) : b.at(i, p) * entry(p, j);
                product.at(i, j) = this->alpha * sum;
              }
            Matrix<T> got = b;
            Blas<T>::trmm(&side, &uplo, &t, &diag, &m, &n, &this->alpha, a.v.data(), &a.ld, got.v.data(), &got.ld, 1, 1, 1, 1);
            expect_equal(got, product, 20, std::string("trmm ") + side + uplo + t + diag);
            const T back = T(1) / this->alpha;
            Blas<T>::trsm(&side, &uplo, &t, &diag, &m, &n, &back, a.v.data(), &a.ld, got.v.data(), &got.ld, 1, 1, 1, 1);
            expect_equal(got, b, 20, std::string("trsm ") + side + uplo + t + diag);
          }
}

TYPED_TEST(BlasTest, ProductsWithTheirOwnTranspose) {
  using T = TypeParam;
  using R = typename RealOf<T>::type;
  const R one = R(0.5), beta = R(-1.5);
  for (auto [n, k] : {std::pair{1, 1}, {7, 5}, {64, 40}, {130, 20}, {65, 300}})
    for (char uplo : {'L', 'U'})
      for (char t : {'N', kComplex<T> ? 'C' : 'T'}) {
        Matrix<T> a(t == 'N' ? n : k, t == 'N' ? k : n, 14), b(a.rows, a.cols, 15), c(n, n, 16);
        for (int i = 0; i < n; i++) c.at(i, i) = std::real(c.at(i, i));
        Matrix<T> first = c, second = c, got = c;
        for (int j = 0; j < n; j++)
          for (int i = uplo == 'L' ? j : 0; i < (uplo == 'L' ? n : j + 1); i++) {
            T s(0), d(0);
            for (int p = 0; p < k; p++) {
              s += a.op(t, i, p) * conjugate(a.op(t, j, p));
              d += this->alpha * a.op(t, i, p) * conjugate(b.op(t, j, p)) +
                   conjugate(this->alpha) * b.op(t, i, p) * conjugate(a.op(t, j, p));
            }
            first.at(i, j) = one * s + beta * c.at(i, j);
            second.at(i, j) = d + beta * c.at(i, j);
          }
        Blas<T>::herk(&uplo, &t, &n, &k, &one, a.v.data(), &a.ld, &beta, got.v.data(), &got.ld, 1, 1);
        expect_equal(got, first, 1 + k, std::string("herk ") + uplo + t);
        got = c;
        Blas<T>::her2k(&uplo, &t, &n, &k, &this->alpha, a.v.data(), &a.ld, b.v.data(), &b.ld, &beta, got.v.data(), &got.ld, 1,
                       1);
        expect_equal(got, second, 1 + k, std::string("her2k ") + uplo + t);
      }
}

TYPED_TEST(BlasTest, SameBitsForAnyNumberOfThreads) {
  using T = TypeParam;
  const int before = num_threads(), n = 300, m = 400, step = 1;
  auto run = [&](int threads) {
    set_num_threads(threads);
    Matrix<T> a(m, n, 17), b(n, n, 18), c(m, n, 19), y(m, 1, 20);
    Blas<T>::gemm("N", "T", &m, &n, &n, &this->alpha, a.v.data(), &a.ld, b.v.data(), &b.ld, &this->beta, c.v.data(), &c.ld, 1,
                  1);
    Blas<T>::gemv("N", &m, &n, &this->alpha, a.v.data(), &a.ld, b.v.data(), &step, &this->beta, y.v.data(), &step, 1);
    Blas<T>::gemv("T", &m, &n, &this->alpha, a.v.data(), &a.ld, c.v.data(), &step, &this->beta, y.v.data(), &step, 1);
    c.v.insert(c.v.end(), y.v.begin(), y.v.end());
    return c.v;
  };
  const std::vector<T> one = run(1);
  for (int threads : {2, 3, 7}) EXPECT_TRUE(run(threads) == one) << threads << " threads";
  set_num_threads(before);
}

}  // namespace
}  // namespace dyadic
