#include "corridor/batching.h"
#include "ops/linalg/factor.h"

namespace dyadic::inline v1::ops::linalg_solve_triangular_op {
namespace {

constexpr const char* kName = "linalg.solve_triangular";
enum { kUpper = 2, kLeft, kUnit };  // arguments

void infer(Call& c) {
  const Tensor &a = c[arg::self], &b = c[arg::B];
  check_square(kName, a, "self");
  check_matrix(kName, b, "B");
  check_same_dtype(kName, a, b, "self", "B");
  DY_CHECK(a.size(-1) == b.size(c.boolean(kLeft) ? -2 : -1), "{}: sizes do not fit: self is {}, B is {}, {}", kName,
           describe(a), describe(b), c.boolean(kLeft) ? "self X = B" : "X self = B");
  set_spec(c.spec[0], a, plain(a), common_batch(kName, a, b, "self", "B"), {b.size(-2), b.size(-1)});
}

struct Parameters : Matrices {
  bool upper, left, unit;
};
// X A = B is A^T X^T = B^T: the same system, everything read and written by rows.
template <class T> struct Routine {
  const Parameters& given;
  IntList batch;
  int64_t n_batch, own;  // matrices of the result, and of self
  bool left, upper;
  int n, columns;
  T *a, *b;

  Routine(const Parameters& given, Scratch& s)
      : given(given),
        batch(batch_of(given.out[0])),
        n_batch(count(batch)),
        own(count(batch_of(given.in[0]))),
        left(given.left),
        upper(given.upper == left),
        n(narrow_int(given.in[0].size(-1))),
        columns(narrow_int(given.in[1].size(left ? -1 : -2))) {
    a = s.take<T>((own == 1 ? 1 : n_batch) * n * n);  // one matrix serves the whole batch
    b = s.take<T>(n_batch * n * columns);
  }
  void run() {
    const auto load = left ? load_columns : load_rows;
    load(given.in[0], own == 1 ? batch_of(given.in[0]) : batch, a, dtype_for<T>());
    load(given.in[1], batch, b, dtype_for<T>());
    const int ld = std::max(n, 1);
    for_each_matrix(n_batch, [&](int64_t i, int64_t) {
      solve_triangle(upper, given.unit, n, columns, a + (own == 1 ? 0 : i) * n * n, ld, b + i * n * columns, ld);
    });
    left ? store_columns(given.out[0], b, dtype_for<T>(), n, int64_t(n) * columns) : store(given.out[0], b, dtype_for<T>());
  }
};

double flops(const Call& c) { return double(c.spec[0].numel()) * double(c[arg::self].size(-1)); }

// A X = B: gB = A^-H g, gA = -gB X^H, of which A's triangle counts.
void backward(Grad& g) {
  const bool upper = g.boolean(kUpper), left = g.boolean(kLeft), unit = g.boolean(kUnit);
  const Tensor ah = mH(g.in(arg::self)), gb = call(Op::linalg_solve_triangular_, ah, g.g(), !upper, left, unit);
  if (g.needs(arg::self)) {
    const Tensor xh = mH(g.out(0)), full = neg(left ? matmul(gb, xh) : matmul(xh, gb));
    g.set(arg::self, upper ? triu(full, unit) : tril(full, unit ? -1 : 0));
  }
  g.set(arg::B, gb);
}

void plan(Call& c) {
  Parameters p;
  p.upper = c.boolean(kUpper), p.left = c.boolean(kLeft), p.unit = c.boolean(kUnit);
  plan_matrices<Routine>(c, p);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
    .doc =
        "X of self X = B (left=False: X self = B) for triangular matrices [..., n, n], of which the other triangle is not "
        "read, "
        "nor the diagonal of unitriangular ones; batches broadcast. A zero on the diagonal gives infinities, no error.",
    .amp = Amp::f32,
    .samples =
        "linalg_solve_triangular(spd(3, 3), randn(3, 2), True)\n"
        "linalg_solve_triangular(spd(2, 3, 3), randn(3, 2), False)\n"
        "linalg_solve_triangular(spd(3, 3), randn(2, 2, 3), True, False)\n"
        "linalg_solve_triangular(spd(3, 3), randn(3, 2), False, True, True)\n"
        "linalg_solve_triangular(zeros(2, 0, 0), zeros(0, 3), True)",
    .bad =
        "linalg_solve_triangular(zeros(2, 2), zeros(3, 1), True) => linalg.solve_triangular: sizes do not fit: self is f32[2, "
        "2], B is f32[3, 1], self X = B",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::self) | out(0), in(arg::self)},
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_solve_triangular_op
