#include "corridor/batching.h"
#include "ops/linalg/factor.h"
#include "ops/linalg/lu.h"
#include "ops/linalg/small_lu.h"

namespace dyadic::inline v1::ops::linalg_solve_factored_op {
namespace {

constexpr const char* kName = "linalg.solve";

void infer(Call& c) {
  const Tensor &a = c[arg::A], &b = c[arg::B];
  check_square(kName, a, "A");
  check_matrix(kName, b, "B");
  check_same_dtype(kName, a, b, "A", "B");
  DY_CHECK(a.size(-1) == b.size(-2), "{}: sizes do not fit: A is {}, B is {}", kName, describe(a), describe(b));
  set_spec(c.spec[0], a, plain(a), common_batch(kName, a, b, "A", "B"), {b.size(-2), b.size(-1)});
  set_spec(c.spec[1], a, plain(a), batch_of(a), {a.size(-2), a.size(-1)});
  set_spec(c.spec[2], a, i32, batch_of(a), {a.size(-1)});
  set_spec(c.spec[3], a, i32, batch_of(a), {});
  c.nout = 4;
}

// Which matrix of A the i-th of the result belongs to.
void place_matrices(const Operand& a, IntList batch, int* places) {
  const IntList sizes = batch_of(a);
  const size_t ahead = batch.size() - sizes.size();
  for (int64_t i = 0; i < count(batch); ++i) {
    int64_t rest = i, place = 0, step = 1;
    for (size_t d = batch.size(); d-- > ahead; rest /= batch[d]) {
      const int64_t size = sizes[d - ahead];
      place += size == 1 ? 0 : rest % batch[d] * step;
      step *= size;
    }
    places[i] = int(place);
  }
}

template <class T> struct Routine {
  const Matrices& given;
  IntList batch;
  int64_t own, n_batch;  // factored once per matrix of A, solved once per matrix of the result
  int n, columns, ld;
  T *lu, *x;
  int* places;

  Routine(const Matrices& given, Scratch& s)
      : given(given),
        batch(batch_of(given.out[0])),
        own(count(batch_of(given.in[0]))),
        n_batch(count(batch)),
        n(narrow_int(given.in[0].size(-1))),
        columns(narrow_int(given.in[1].size(-1))),
        ld(column_distance<T>(n)) {
    lu = s.take<T>(own * ld * n);
    x = s.take<T>(n_batch * ld * columns);
    places = s.take<int>(n_batch);
  }
  void run() {
    int *pivots = given.out[2].data<int>(), *info = given.out[3].data<int>();
    const int64_t size = int64_t(ld) * n, x_size = int64_t(ld) * columns;
    load_columns_apart(given.in[0], batch_of(given.in[0]), lu, dtype_for<T>(), ld);
    load_columns_apart(given.in[1], batch, x, dtype_for<T>(), ld);
    for_each_matrix(own, [&](int64_t i, int64_t) { factor_lu(n, n, lu + i * size, ld, pivots + i * n, info + i); });
    place_matrices(given.in[0], batch, places);
    for_each_matrix(n_batch, [&](int64_t i, int64_t) {
      const int64_t k = places[i];
      T* to = x + i * x_size;
      exchange_rows(columns, to, ld, 0, n, pivots + k * n);
      solve_triangle(false, true, n, columns, lu + k * size, ld, to, ld);
      solve_triangle(true, false, n, columns, lu + k * size, ld, to, ld);
    });
    store_columns(given.out[0], x, dtype_for<T>(), ld, x_size);
    store_columns(given.out[1], lu, dtype_for<T>(), ld, size);
  }
};

template <class T> struct Small {
  const Matrices& given;
  const IntList batch;
  SmallInput<T> a, b;
  SmallOutput<T> x, lu;
  bool one_to_one;
  int* places = nullptr;

  Small(const Matrices& given, Scratch& s)
      : given(given),
        batch(batch_of(given.out[0])),
        a(given.in[0], batch_of(given.in[0]), s),
        b(given.in[1], batch, s),
        x(given.out[0], s),
        lu(given.out[1], s),
        one_to_one(count(batch) == count(batch_of(given.in[0]))) {
    if (!one_to_one) places = s.take<int>(count(batch));
  }
  void run() {
    const Array &result = given.out[0], &factors = given.out[1];
    const int n = int(factors.size(-1));
    int* pivots = given.out[2].data<int>();
    const SmallMatrices<T> f = lu.matrices();
    small_lu<T>().factor(count(batch_of(factors)), n, n, a.read(), f, pivots, given.out[3].data<int>());
    if (places) place_matrices(given.in[0], batch, places);
    small_lu<T>().solve(count(batch), n, result.size(-1), {f.data, f.step, f.row, f.col}, pivots, places, b.read(),
                        x.matrices());
    lu.store();
    x.store();
  }
};

double flops(const Call& c) { return lu_flops(c[arg::A]) + 2 * double(c.spec[0].numel()) * double(c[arg::A].size(-1)); }

// gB = A^-H g, gA = -gB X^H.
void backward(Grad& g) {
  if (!g.g().defined()) return;
  Tensor gb;
  if (GradMode::enabled()) {
    const Tensor ah = mH(g.in(arg::A));
    gb = call_all(Op::linalg_solve_factored_, ah, g.g())[0];
  } else {
    const Tensor lu = g.out(1), pivots = g.out(2);
    gb = call(Op::linalg_lu_solve_, lu, pivots, g.g(), true, true);
  }
  if (g.needs(arg::A)) g.set(arg::A, neg(matmul(gb, mH(g.out(0)))));
  g.set(arg::B, gb);
}

void plan(Call& c) { plan_by_size<Small, Routine>(c, Matrices()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_solve_factored(Tensor A, Tensor B) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)",
    .doc =
        "X of A X = B for square matrices by LU factors, which are results too; batches broadcast. linalg.solve calls it. "
        "info: "
        "0, or the place, from 1, of the first zero on U's diagonal.",
    .amp = Amp::f32,
    .internal = true,
    .samples =
        "linalg_solve_factored(spd(3, 3), randn(3, 2))\n"
        "linalg_solve_factored(spd(2, 3, 3), randn(3, 1))\n"
        "linalg_solve_factored(spd(3, 3), randn(2, 3, 2))\n"
        "linalg_solve_factored(spd(2, 1, 2, 2), randn(3, 2, 1))\n"
        "linalg_solve_factored(zeros(0, 0), zeros(0, 2))",
    .bad = "linalg_solve_factored(zeros(2, 2), zeros(3, 1)) => linalg.solve: sizes do not fit: A is f32[2, 2], B is f32[3, 1]",
    .skip = "second_output: the factors are not differentiated",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::A) | out(0) | out(1) | out(2), in(arg::A) | out(1) | out(2)},
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_solve_factored_op
