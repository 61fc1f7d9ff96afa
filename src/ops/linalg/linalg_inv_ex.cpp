#include <algorithm>

#include "corridor/batching.h"
#include "ops/linalg/factor.h"
#include "ops/linalg/lu.h"
#include "ops/linalg/small_lu.h"

namespace dyadic::inline v1::ops::linalg_inv_ex_op {
namespace {

constexpr const char* kName = "linalg.inv_ex";

void infer(Call& c) {
  const Tensor& a = c[arg::A];
  check_square(kName, a, "A");
  set_spec(c.spec[0], a, plain(a), batch_of(a), {a.size(-2), a.size(-1)});
  set_spec(c.spec[1], a, i32, batch_of(a), {});
  c.nout = 2;
}

struct Parameters : Matrices {
  bool checked;
};
template <class T> struct Routine {
  const Parameters& given;
  int64_t batch;
  int n, ld;
  T *lu, *inverse;
  int* pivots;

  Routine(const Parameters& given, Scratch& s)
      : given(given), batch(count(batch_of(given.in[0]))), n(narrow_int(given.in[0].size(-1))), ld(column_distance<T>(n)) {
    lu = s.take<T>(batch * ld * n);
    inverse = s.take<T>(batch * ld * n);
    pivots = s.take<int>(pieces(batch) * n);
  }
  void run() {
    int* info = given.out[1].data<int>();
    load_columns_apart(given.in[0], batch_of(given.in[0]), lu, dtype_for<T>(), ld);
    const int64_t size = int64_t(ld) * n, next = int64_t(ld) + 1;  // next: from one element of a diagonal to the other
    for_each_matrix(batch, [&](int64_t i, int64_t piece) {
      T *factors = lu + i * size, *to = inverse + i * size;
      int* p = pivots + piece * n;
      factor_lu(n, n, factors, ld, p, info + i);
      std::fill(to, to + size, T(0));
      for (int64_t d = 0; d < n; ++d) to[d * next] = T(1);
      constexpr int kColumns = 64;  // L^-1 is a triangle too: columns from their diagonal on
      for (int d = 0; d < n; d += kColumns)
        solve_triangle(false, true, n - d, std::min(kColumns, n - d), factors + d * next, ld, to + d * next, ld);
      solve_triangle(true, false, n, n, factors, ld, to, ld);
      for (int64_t r = n; r-- > 0;)
        if (p[r] != r + 1) std::swap_ranges(to + r * ld, to + r * ld + n, to + int64_t(p[r] - 1) * ld);
    });
    store_columns(given.out[0], inverse, dtype_for<T>(), ld, size);
    if (given.checked) check_factors(kName, given.out[1], given.in[0]);
  }
};

template <class T> struct Small {
  const Parameters& given;
  SmallInput<T> a;
  SmallOutput<T> inverse;

  Small(const Parameters& given, Scratch& s)
      : given(given), a(given.in[0], batch_of(given.in[0]), s), inverse(given.out[0], s) {}
  void run() {
    const Array& out = given.out[0];
    small_lu<T>().invert(count(batch_of(out)), int(out.size(-1)), a.read(), inverse.matrices(), given.out[1].data<int>());
    inverse.store();
    if (given.checked) check_factors(kName, given.out[1], given.in[0]);
  }
};

double flops(const Call& c) {
  const double n = double(c[arg::A].size(-1));
  return double(count(batch_of(c[arg::A]))) * 2 * n * n * n;
}

// -A^-H g A^-H.
void backward(Grad& g) {
  if (!g.g().defined()) return;
  const Tensor h = mH(g.out(0));
  g.set(arg::A, neg(matmul(matmul(h, g.g()), h)));
}

void plan(Call& c) {
  Parameters p;
  p.checked = c[arg::check_errors];
  plan_by_size<Small, Routine>(c, p);
}

}  // namespace

extern constexpr OpDef record = {
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
    .backward = backward,
    .needs = {out(0)},
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_inv_ex_op
