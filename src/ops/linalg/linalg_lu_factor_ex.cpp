#include "corridor/batching.h"
#include "ops/linalg/factor.h"
#include "ops/linalg/lu.h"
#include "ops/linalg/small_lu.h"

namespace dyadic::inline v1::ops::linalg_lu_factor_ex_op {
namespace {

constexpr const char* kName = "linalg.lu_factor_ex";

void infer(Call& c) {
  const Tensor& a = c[arg::A];
  check_matrix(kName, a, "A");
  DY_CHECK(c[arg::pivot], "{}: factors without pivots are not computed: pivot is False", kName);
  set_spec(c.spec[0], a, plain(a), batch_of(a), {a.size(-2), a.size(-1)});
  set_spec(c.spec[1], a, i32, batch_of(a), {std::min(a.size(-2), a.size(-1))});
  set_spec(c.spec[2], a, i32, batch_of(a), {});
  c.nout = 3;
}

struct Parameters : Matrices {
  bool checked;
};
template <class T> struct Routine {
  const Parameters& given;
  int64_t batch;
  int m, n, ld;
  T* lu;

  Routine(const Parameters& given, Scratch& s)
      : given(given),
        batch(count(batch_of(given.in[0]))),
        m(narrow_int(given.in[0].size(-2))),
        n(narrow_int(given.in[0].size(-1))),
        ld(column_distance<T>(m)) {
    lu = s.take<T>(batch * ld * n);
  }
  void run() {
    int *pivots = given.out[1].data<int>(), *info = given.out[2].data<int>();
    const int64_t step = int64_t(ld) * n;
    load_columns_apart(given.in[0], batch_of(given.in[0]), lu, dtype_for<T>(), ld);
    for_each_matrix(batch,
                    [&](int64_t i, int64_t) { factor_lu(m, n, lu + i * step, ld, pivots + i * std::min(m, n), info + i); });
    store_columns(given.out[0], lu, dtype_for<T>(), ld, step);
    if (given.checked) check_factors(kName, given.out[2], given.in[0]);
  }
};

template <class T> struct Small {
  const Parameters& given;
  SmallInput<T> a;
  SmallOutput<T> lu;

  Small(const Parameters& given, Scratch& s) : given(given), a(given.in[0], batch_of(given.in[0]), s), lu(given.out[0], s) {}
  void run() {
    const Array& out = given.out[0];
    small_lu<T>().factor(count(batch_of(out)), int(out.size(-2)), int(out.size(-1)), a.read(), lu.matrices(),
                         given.out[1].data<int>(), given.out[2].data<int>());
    lu.store();
    if (given.checked) check_factors(kName, given.out[2], given.in[0]);
  }
};

void backward(Grad& g) {
  if (!g.g().defined()) return;
  const Tensor lu = g.out(0), pivots = g.out(1), gl = tril(g.g(), -1), gu = triu(g.g());
  g.set(arg::A, lu_gradient(lu, pivots, gl, gu));
}
double flops(const Call& c) { return lu_flops(c[arg::A]); }

void plan(Call& c) {
  Parameters p;
  p.checked = c[arg::check_errors];
  plan_by_size<Small, Routine>(c, p);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
    .doc =
        "P A = L U in one matrix: U above, L (its unit diagonal left out) below the diagonal; row i was exchanged with row "
        "pivots[i] - 1. info: 0, or the place, from 1, of the first zero on U's diagonal. LAPACK's getrf.",
    .amp = Amp::f32,
    .samples =
        "linalg_lu_factor_ex(randn(3, 3))\n"
        "linalg_lu_factor_ex(randn(2, 4, 3))\n"
        "linalg_lu_factor_ex(randn(3, 5))\n"
        "linalg_lu_factor_ex(zeros(0, 0))\n"
        "linalg_lu_factor_ex(zeros(0, 2, 3))",
    .bad =
        "linalg_lu_factor_ex(zeros(2, 2), False) => linalg.lu_factor_ex: factors without pivots are not computed: pivot is "
        "False\n"
        "linalg_lu_factor_ex(zeros(2, 2), True, True) => linalg.lu_factor_ex: the matrix is singular: A is f32[2, 2]: element "
        "1 "
        "of the diagonal of U is zero; use linalg.pinv or linalg.lstsq",
    .infer = infer,
    .backward = backward,
    .needs = {out(0) | out(1)},
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_lu_factor_ex_op
