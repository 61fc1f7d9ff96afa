#include <cmath>

#include "corridor/batching.h"
#include "ops/linalg/factor.h"

namespace dyadic::inline v1::ops::linalg_matrix_exp_op {
namespace {

constexpr const char* kName = "linalg.matrix_exp";

void infer(Call& c) {
  const Tensor& a = c[arg::self];
  check_square(kName, a, "self");
  set_spec(c.spec[0], a, plain(a), batch_of(a), {a.size(-2), a.size(-1)});
}

// Scaling and squaring with the diagonal Pade approximant of order 13 (Higham, SIAM J. Matrix Anal. Appl. 26, 2005).
template <class T> struct Routine {
  using R = lapack::Real<T>;
  static constexpr int kArrays = 6;
  const Matrices& given;
  int64_t batch, size;
  int n, ld;
  T *a, *room;
  int* pivots;

  Routine(const Matrices& given, Scratch& s)
      : given(given), batch(count(batch_of(given.in[0]))), n(narrow_int(given.in[0].size(-1))), ld(std::max(n, 1)) {
    size = int64_t(n) * n;
    a = s.take<T>(batch * size);
    room = s.take<T>(pieces(batch) * kArrays * size);
    pivots = s.take<int>(pieces(batch) * n);
  }
  void run() {
    load_columns(given.in[0], batch_of(given.in[0]), a, dtype_for<T>());
    for_each_matrix(batch,
                    [&](int64_t i, int64_t piece) { one(a + i * size, room + piece * kArrays * size, pivots + piece * n); });
    store_columns(given.out[0], a, dtype_for<T>(), n, size);
  }

 private:
  void multiply(const T* x, const T* y, T* to) const {
    const T one(1), zero(0);
    lapack::gemm<T>("N", "N", &n, &n, &n, &one, x, &ld, y, &ld, &zero, to, &ld, 1, 1);
  }
  // to = p x + q y + r z + d I
  void combine(T* to, R p, const T* x, R q, const T* y, R r, const T* z, R d) const {
    for (int64_t k = 0; k < size; ++k) to[k] = p * x[k] + q * y[k] + r * z[k];
    for (int64_t k = 0; k < n; ++k) to[k * (n + 1)] += d;
  }
  R norm1(const T* m) const {
    R most(0);
    for (int64_t col = 0; col < n; ++col) {
      R sum(0);
      for (int64_t r = 0; r < n; ++r) sum += std::abs(m[col * n + r]);
      if (!(sum <= most)) most = sum;
    }
    return most;
  }
  void one(T* m, T* w, int* p) const {
    constexpr double b[] = {64764752532480000,
                            32382376266240000,
                            7771770303897600,
                            1187353796428800,
                            129060195264000,
                            10559470521600,
                            670442572800,
                            33522128640,
                            1323241920,
                            40840800,
                            960960,
                            16380,
                            182,
                            1};
    constexpr double kTheta = 5.371920351148152;
    const double norm = double(norm1(m));
    if (!std::isfinite(norm)) return std::fill(m, m + size, T(R(NAN)));
    const int squarings = norm > kTheta ? std::max(0, int(std::ceil(std::log2(norm / kTheta)))) : 0;
    // b is divided by b[0], so that float holds it.
    auto k = [&](int i) { return R(b[i] / b[0]); };
    T *a2 = w, *a4 = w + size, *a6 = w + 2 * size, *u = w + 3 * size, *v = w + 4 * size, *t = w + 5 * size;
    const R scale = std::ldexp(R(1), -squarings);
    for (int64_t e = 0; e < size; ++e) m[e] *= scale;
    multiply(m, m, a2);
    multiply(a2, a2, a4);
    multiply(a4, a2, a6);
    combine(t, k(13), a6, k(11), a4, k(9), a2, R(0));
    multiply(a6, t, u);
    for (int64_t e = 0; e < size; ++e) u[e] += k(7) * a6[e] + k(5) * a4[e] + k(3) * a2[e];
    for (int64_t e = 0; e < n; ++e) u[e * (n + 1)] += k(1);
    multiply(m, u, t);  // t: the odd part
    combine(u, k(12), a6, k(10), a4, k(8), a2, R(0));
    multiply(a6, u, v);
    for (int64_t e = 0; e < size; ++e) v[e] += k(6) * a6[e] + k(4) * a4[e] + k(2) * a2[e];
    for (int64_t e = 0; e < n; ++e) v[e * (n + 1)] += R(1);  // v: the even part
    for (int64_t e = 0; e < size; ++e) a2[e] = v[e] - t[e], m[e] = v[e] + t[e];
    int info = 0;
    factor_lu(n, n, a2, ld, p, &info);
    exchange_rows(n, m, ld, 0, n, p);
    solve_triangle(false, true, n, n, a2, ld, m, ld);
    solve_triangle(true, false, n, n, a2, ld, m, ld);
    for (int s = 0; s < squarings; ++s) {
      multiply(m, m, t);
      std::copy(t, t + size, m);
    }
  }
};

// The upper right block of exp([[A^H, g], [0, A^H]]) (Al-Mohy and Higham 2009).
void backward(Grad& g) {
  const Tensor h = mH(g.in(arg::self)), top[] = {h, g.g()}, bottom[] = {zeros_like(h.detach()), h};
  const Tensor rows[] = {cat(top, -1), cat(bottom, -1)};
  const int64_t n = h.size(-1);
  g.set(arg::self, narrow(narrow(call(Op::linalg_matrix_exp_, cat(rows, -2)), -2, 0, n), -1, n, n));
}
double flops(const Call& c) {
  const double n = double(c[arg::self].size(-1));
  return double(count(batch_of(c[arg::self]))) * 15 * n * n * n;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_matrix_exp(Tensor self) -> Tensor",
    .doc =
        "The exponential of square matrices: sum of A^k / k!. Scaling and squaring with a Pade approximant of order 13 (Higham "
        "2005).",
    .amp = Amp::f32,
    .samples =
        "linalg_matrix_exp(randn(3, 3))\n"
        "linalg_matrix_exp(randn(2, 2, 3, 3))\n"
        "linalg_matrix_exp(zeros(3, 3))\n"
        "linalg_matrix_exp(zeros(0, 0))\n"
        "linalg_matrix_exp(zeros(0, 2, 2))",
    .bad = "linalg_matrix_exp(zeros(2, 3)) => linalg.matrix_exp: needs square matrices: self is f32[2, 3]",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::self)},
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan_matrices<Routine>};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_matrix_exp_op
