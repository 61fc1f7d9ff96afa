#include "ops/linalg/factor.h"
#include "ops/linalg/lu.h"

namespace dyadic::inline v1::ops {
namespace {

constexpr const char* kName = "linalg.inv_ex";

void infer(Call& c) {
  const Tensor& a = c.tensor(0);
  check_square(kName, a, "A");
  set_spec(c.spec[0], a, plain(a), batch_of(a), {a.size(-2), a.size(-1)});
  set_spec(c.spec[1], a, i32, batch_of(a), {});
  c.nout = 2;
}

template <class T> struct Kernel {
  const Call& c;
  int64_t batch;
  int n, ld;
  T *lu, *inverse;
  int* pivots;

  Kernel(const Call& c, Scratch& s)
      : c(c), batch(count(batch_of(c.tensor(0)))), n(narrow_int(c.tensor(0).size(-1))), ld(std::max(n, 1)) {
    lu = s.take<T>(batch * n * n);
    inverse = s.take<T>(batch * n * n);
    pivots = s.take<int>(pieces(batch) * n);
  }
  void run() {
    int* info = c.out[1].data<int>();
    load_columns(c.tensor(0), batch_of(c.tensor(0)), lu, dtype_for<T>());
    for_each_matrix(batch, [&](int64_t i, int64_t piece) {
      T *factors = lu + i * n * n, *to = inverse + i * n * n;
      int* p = pivots + piece * n;
      factor_lu(n, n, factors, ld, p, info + i);
      std::fill(to, to + int64_t(n) * n, T(0));
      for (int64_t d = 0; d < n; ++d) to[d * (n + 1)] = T(1);
      exchange_rows(n, to, ld, 0, n, p);
      solve_triangle(false, true, n, n, factors, ld, to, ld);
      solve_triangle(true, false, n, n, factors, ld, to, ld);
    });
    store_columns(c.out[0], inverse, dtype_for<T>(), n, int64_t(n) * n);
    if (c.boolean(1)) check_factors(kName, c.out[1], c.tensor(0));
  }
};

double flops(const Call& c) {
  const double n = double(c.tensor(0).size(-1));
  return double(count(batch_of(c.tensor(0)))) * 2 * n * n * n;
}

// -A^-H g A^-H.
void backward(Grad& g) {
  if (!g.g().defined()) return;
  const Tensor h = mH(g.out(0));
  g.set(0, neg(matmul(matmul(h, g.g()), h)));
}

}  // namespace

extern constexpr OpDef linalg_inv_ex_op = {
    .sig = "linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
    .doc =
        "The inverses of square matrices; info: 0, or the place, from 1, of the first zero on the diagonal of the factor U of "
        "a "
        "singular one, whose inverse holds infinities or NaN.",
    .amp = Amp::f32,
    .samples =
        "linalg_inv_ex(spd(3, 3))\n"
        "linalg_inv_ex(spd(2, 2, 3, 3))\n"
        "linalg_inv_ex(zeros(0, 0))\n"
        "linalg_inv_ex(zeros(0, 2, 2))",
    .bad =
        "linalg_inv_ex(zeros(2, 2, 2), True) => linalg.inv_ex: the matrix is singular: A is f32[2, 2, 2], batch element [0]: "
        "element 1 of the diagonal of U is zero; use linalg.pinv or linalg.lstsq",
    .infer = infer,
    .forward = run_kernel<Kernel>,
    .backward = backward,
    .needs = {out(0)},
    .flops = flops,
    .workspace = workspace_of<Kernel>,
    .complex_kernel = true,
};

}  // namespace dyadic::inline v1::ops
