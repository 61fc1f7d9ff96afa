#include "corridor/batching.h"
#include "ops/linalg/factor.h"

namespace dyadic::inline v1::ops::linalg_cholesky_ex_op {
namespace {

constexpr const char* kName = "linalg.cholesky_ex";

void infer(Call& c) {
  const Tensor& a = c[arg::self];
  check_square(kName, a, "self");
  set_spec(c.spec[0], a, plain(a), batch_of(a), {a.size(-2), a.size(-1)});
  set_spec(c.spec[1], a, i32, batch_of(a), {});
  c.nout = 2;
}

struct Parameters : Matrices {
  bool upper, checked;
};
// By rows, the upper triangle of A is the lower one of its transpose, whose factor by rows is U.
template <class T> struct Routine {
  const Parameters& given;
  int64_t batch;
  int n;
  T* l;

  Routine(const Parameters& given, Scratch& s)
      : given(given), batch(count(batch_of(given.in[0]))), n(narrow_int(given.in[0].size(-1))) {
    l = s.take<T>(batch * n * n);
  }
  void run() {
    const bool upper = given.upper;
    int* info = given.out[1].data<int>();
    (upper ? load_rows : load_columns)(given.in[0], batch_of(given.in[0]), l, dtype_for<T>());
    const int ld = std::max(n, 1);
    for_each_matrix(batch, [&](int64_t i, int64_t) {
      T* m = l + i * n * n;
      lapack::potrf<T>("L", &n, m, &ld, info + i, 1);
      for (int64_t col = 0; col < n; ++col) std::fill(m + col * n, m + col * n + col, T(0));
    });
    upper ? store(given.out[0], l, dtype_for<T>()) : store_columns(given.out[0], l, dtype_for<T>(), n, int64_t(n) * n);
    if (given.checked)
      check_info(kName, given.out[1], given.in[0], "self", "not positive definite", "its leading minor of order {} is not",
                 "add a little to its diagonal, or use linalg.eigh");
  }
};

double flops(const Call& c) {
  const double n = double(c[arg::self].size(-1));
  return double(count(batch_of(c[arg::self]))) * n * n * n / 3;
}

// L^-H (P + P^H) / 2 L^-1, P the lower triangle of L^H gL with half of its diagonal (Murray 2016, arXiv:1602.07527).
void backward(Grad& g) {
  if (!g.g().defined()) return;
  const bool upper = g[arg::upper];
  const Tensor l = upper ? mH(g.out(0)) : g.out(0), gl = upper ? mH(g.g()) : g.g();
  const Tensor p = halved_diagonal(tril(matmul(mH(l), gl)));
  const Tensor middle = mul(add(p, mH(p)), 0.5), lh = mH(l);
  const Tensor left = call(Op::linalg_solve_triangular_, lh, middle, true, true, false);
  g.set(arg::self, call(Op::linalg_solve_triangular_, l, left, false, false, false));
}

void plan(Call& c) {
  Parameters p;
  p.upper = c[arg::upper], p.checked = c[arg::check_errors];
  plan_matrices<Routine>(c, p);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
    .doc =
        "The Cholesky factor of Hermitian positive definite matrices, of which only the lower triangle is read (upper: the "
        "upper one): self = L L^H, or U^H U. info: 0, or the order of the first leading minor that is not positive. LAPACK's "
        "potrf. The gradient takes self for Hermitian.",
    .amp = Amp::f32,
    .samples =
        "linalg_cholesky_ex(spd(3, 3))\n"
        "linalg_cholesky_ex(spd(2, 4, 4), True)\n"
        "linalg_cholesky_ex(randn(3, 3))\n"
        "linalg_cholesky_ex(zeros(0, 0))\n"
        "linalg_cholesky_ex(zeros(0, 2, 2))",
    .bad =
        "linalg_cholesky_ex(zeros(2, 3)) => linalg.cholesky_ex: needs square matrices: self is f32[2, 3]\n"
        "linalg_cholesky_ex(zeros(3)) => linalg.cholesky_ex: needs a matrix, or a batch of them: self is f32[3]",
    .skip =
        "gradcheck: the gradient is that of Hermitian matrices; tests/ops/linalg_test.cpp checks it\n"
        "double_backward: the same",
    .infer = infer,
    .backward = backward,
    .needs = {out(0)},
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_cholesky_ex_op
