#include "ops/linalg/factor.h"
#include "ops/linalg/lu.h"
#include "ops/linalg/small_lu.h"

namespace dyadic::inline v1::ops::linalg_solve_factored_op {
namespace {

constexpr const char* kName = "linalg.solve";

void infer(Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
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

std::vector<int64_t> batch_of_result(const Call& c) { return {c.spec[0].sizes, c.spec[0].sizes + c.spec[0].ndim - 2}; }

// Which matrix of A the i-th of the result belongs to.
void place_matrices(const Tensor& a, IntList batch, int* places) {
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

template <class T> struct Kernel {
  const Call& c;
  std::vector<int64_t> batch;
  int64_t own, n_batch;  // factored once per matrix of A, solved once per matrix of the result
  int n, columns, ld;
  T *lu, *x;
  int* places;

  Kernel(const Call& c, Scratch& s)
      : c(c),
        batch(batch_of_result(c)),
        own(count(batch_of(c.tensor(0)))),
        n_batch(count(batch)),
        n(narrow_int(c.tensor(0).size(-1))),
        columns(narrow_int(c.tensor(1).size(-1))),
        ld(column_distance<T>(n)) {
    lu = s.take<T>(own * ld * n);
    x = s.take<T>(n_batch * ld * columns);
    places = s.take<int>(n_batch);
  }
  void run() {
    int *pivots = c.out[2].data<int>(), *info = c.out[3].data<int>();
    const int64_t size = int64_t(ld) * n, x_size = int64_t(ld) * columns;
    load_columns_apart(c.tensor(0), batch_of(c.tensor(0)), lu, dtype_for<T>(), ld);
    load_columns_apart(c.tensor(1), batch, x, dtype_for<T>(), ld);
    for_each_matrix(own, [&](int64_t i, int64_t) { factor_lu(n, n, lu + i * size, ld, pivots + i * n, info + i); });
    place_matrices(c.tensor(0), batch, places);
    for_each_matrix(n_batch, [&](int64_t i, int64_t) {
      const int64_t k = places[i];
      T* to = x + i * x_size;
      exchange_rows(columns, to, ld, 0, n, pivots + k * n);
      solve_triangle(false, true, n, columns, lu + k * size, ld, to, ld);
      solve_triangle(true, false, n, columns, lu + k * size, ld, to, ld);
    });
    store_columns(c.out[0], x, dtype_for<T>(), ld, x_size);
    store_columns(c.out[1], lu, dtype_for<T>(), ld, size);
  }
};

template <class T> struct Small {
  const Call& c;
  const std::vector<int64_t> batch;
  SmallInput<T> a, b;
  SmallOutput<T> x, lu;
  bool one_to_one;
  int* places = nullptr;

  Small(const Call& c, Scratch& s)
      : c(c),
        batch(batch_of_result(c)),
        a(c.tensor(0), batch_of(c.tensor(0)), s),
        b(c.tensor(1), batch, s),
        x(c.spec[0], s),
        lu(c.spec[1], s),
        one_to_one(count(batch) == count(batch_of(c.tensor(0)))) {
    if (!one_to_one) places = s.take<int>(count(batch));
  }
  void run() {
    const Tensor &result = c.out[0], &factors = c.out[1];
    const int n = int(factors.size(-1));
    int* pivots = c.out[2].data<int>();
    const SmallMatrices<T> f = lu.at(factors);
    small_lu<T>().factor(count(batch_of(factors)), n, n, a.read(), f, pivots, c.out[3].data<int>());
    if (places) place_matrices(c.tensor(0), batch, places);
    small_lu<T>().solve(count(batch), n, result.size(-1), {f.data, f.step, f.row, f.col}, pivots, places, b.read(),
                        x.at(result));
    lu.store(factors);
    x.store(result);
  }
};

double flops(const Call& c) { return lu_flops(c.tensor(0)) + 2 * double(c.spec[0].numel()) * double(c.tensor(0).size(-1)); }

// gB = A^-H g, gA = -gB X^H.
void backward(Grad& g) {
  if (!g.g().defined()) return;
  Tensor gb;
  if (GradMode::enabled()) {
    const Tensor ah = mH(g.in(0));
    gb = call_all(Op::linalg_solve_factored_, ah, g.g())[0];
  } else {
    const Tensor lu = g.out(1), pivots = g.out(2);
    gb = call(Op::linalg_lu_solve_, lu, pivots, g.g(), true, true);
  }
  if (g.needs(0)) g.set(0, neg(matmul(gb, mH(g.out(0)))));
  g.set(1, gb);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_solve_factored(Tensor A, Tensor B) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)",
    .doc =
        "X of A X = B for square matrices by LU factors, which are results too; batches broadcast. linalg.solve calls it. "
        "info: "
        "0, or the place, from 1, of the first zero on U's diagonal.",
    .amp = Amp::f32,
    .samples =
        "linalg_solve_factored(spd(3, 3), randn(3, 2))\n"
        "linalg_solve_factored(spd(2, 3, 3), randn(3, 1))\n"
        "linalg_solve_factored(spd(3, 3), randn(2, 3, 2))\n"
        "linalg_solve_factored(spd(2, 1, 2, 2), randn(3, 2, 1))\n"
        "linalg_solve_factored(zeros(0, 0), zeros(0, 2))",
    .bad = "linalg_solve_factored(zeros(2, 2), zeros(3, 1)) => linalg.solve: sizes do not fit: A is f32[2, 2], B is f32[3, 1]",
    .skip = "second_output: the factors are not differentiated",
    .infer = infer,
    .forward = run_by_size<Small, Kernel>,
    .backward = backward,
    .needs = {in(0) | out(0) | out(1) | out(2), in(0) | out(1) | out(2)},
    .flops = flops,
    .workspace = workspace_by_size<Small, Kernel>,
    .complex_kernel = true,
};

}  // namespace dyadic::inline v1::ops::linalg_solve_factored_op
