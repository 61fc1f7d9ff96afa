#include <algorithm>
#include <cstring>

#include "corridor/batching.h"
#include "ops/linalg/pseudo.h"

namespace dyadic::inline v1::ops::linalg_least_squares_op {
namespace {

constexpr const char* kName = "linalg.lstsq";
enum class Driver : uint8_t { gels, gelsy, gelsd, gelss };
constexpr std::string_view kDrivers[] = {"gels", "gelsy", "gelsd", "gelss"};

void infer(Call& c) {
  const Tensor &a = c[arg::self], &b = c[arg::b];
  check_matrix(kName, a, "self");
  check_matrix(kName, b, "b");
  check_same_dtype(kName, a, b, "self", "b");
  const std::string_view d = c[arg::driver];
  DY_CHECK_AS(ValueError, std::find(std::begin(kDrivers), std::end(kDrivers), d) != std::end(kDrivers),
              "{}: unknown driver \"{}\"; the known ones are gels, gelsy, gelsd and gelss", kName, d);
  DY_CHECK(a.size(-2) == b.size(-2), "{}: sizes do not fit: self is {}, b is {}", kName, describe(a), describe(b));
  const std::vector<int64_t> batch = common_batch(kName, a, b, "self", "b");
  set_spec(c.spec[0], a, plain(a), batch, {a.size(-1), b.size(-1)});
  set_spec(c.spec[1], a, i64, batch, {});
  set_spec(c.spec[2], a, plain(a).to_real(), batch, {std::min(a.size(-2), a.size(-1))});
  c.nout = 3;
}

struct Parameters : Matrices {
  Driver driver = Driver::gels;
  double rcond;
};
template <class T> struct Routine {
  using R = lapack::Real<T>;
  const Parameters& given;
  IntList batch;
  int64_t n_batch, step, real_work;
  int m, n, columns, k, rows, lwork, integer_work;
  R rcond;
  T *a, *b, *work;
  R *s, *rwork;
  int *iwork, *rank, *info;  // LAPACK writes no singular values for gels and gelsy: zeros

  Routine(const Parameters& given, Scratch& room)
      : given(given),
        batch(batch_of(given.out[0])),
        n_batch(count(batch)),
        m(narrow_int(given.in[0].size(-2))),
        n(narrow_int(given.in[0].size(-1))),
        columns(narrow_int(given.in[1].size(-1))),
        k(std::min(m, n)),
        rows(std::max({m, n, 1})),
        rcond(R(given.rcond)) {
    ask();
    step = int64_t(rows) * columns;
    a = room.take<T>(n_batch * m * n);
    b = room.take<T>(n_batch * step);
    work = room.take<T>(pieces(n_batch) * lwork);
    s = room.take<R>(n_batch * k);
    rwork = room.take<R>(pieces(n_batch) * real_work);
    iwork = room.take<int>(pieces(n_batch) * integer_work);
    rank = room.take<int>(n_batch);
    info = room.take<int>(n_batch);
  }
  void run() {
    load_columns(given.in[0], batch, a, dtype_for<T>());
    load_right();
    for_each_matrix(n_batch, [&](int64_t i, int64_t piece) {
      info[i] = rank[i] = 0;
      std::fill_n(s + i * k, k, R(0));
      if (k && columns)
        solve(a + i * m * n, b + i * step, s + i * k, rank + i, work + piece * lwork, lwork, rwork + piece * real_work,
              iwork + piece * integer_work, info + i);
      else
        std::fill(b + i * step, b + (i + 1) * step, T(0));
    });
    for (int64_t i = 0; i < n_batch; ++i)
      DY_CHECK_AS(
          LinAlgError, info[i] == 0, "{}: {}: self is {}, matrix {} of the batch", kName,
          given.driver == Driver::gels ? "the matrix has not full rank; use another driver" : "the algorithm does not converge",
          describe(given.in[0]), i);
    store_columns(given.out[0], b, dtype_for<T>(), rows, step);
    std::copy_n(rank, n_batch, given.out[1].data<int64_t>());
    store(given.out[2], s, dtype_for<R>());
  }

 private:
  // b [m, columns] in arrays of `rows` rows, where the solution takes its place: loaded densely at the end, then moved apart.
  void load_right() {
    T* tight = b + n_batch * (step - int64_t(m) * columns);
    load_columns(given.in[1], batch, tight, dtype_for<T>());
    for (int64_t i = 0; i < n_batch * columns; ++i) std::memmove(b + i * rows, tight + i * m, size_t(m) * sizeof(T));
    for (int64_t i = 0; i < n_batch * columns; ++i) std::fill(b + i * rows + m, b + (i + 1) * rows, T(0));
  }
  void solve(T* x, T* y, R* sv, int* r, T* w, int lw, R* rw, int* iw, int* status) const {
    const int ld = std::max(m, 1);
    const Driver driver = given.driver;
    if (driver == Driver::gels) {
      lapack::gels<T>("N", &m, &n, &columns, x, &ld, y, &rows, w, &lw, status, 1);
    } else if constexpr (lapack::is_complex<T>) {
      if (driver == Driver::gelsy) {
        if (iw) std::fill(iw, iw + n, 0);
        lapack::gelsy<T>(&m, &n, &columns, x, &ld, y, &rows, iw, &rcond, r, w, &lw, rw, status);
      } else if (driver == Driver::gelsd) {
        lapack::gelsd<T>(&m, &n, &columns, x, &ld, y, &rows, sv, &rcond, r, w, &lw, rw, iw, status);
      } else {
        lapack::gelss<T>(&m, &n, &columns, x, &ld, y, &rows, sv, &rcond, r, w, &lw, rw, status);
      }
    } else {
      if (driver == Driver::gelsy) {
        if (iw) std::fill(iw, iw + n, 0);
        lapack::gelsy<T>(&m, &n, &columns, x, &ld, y, &rows, iw, &rcond, r, w, &lw, status);
      } else if (driver == Driver::gelsd) {
        lapack::gelsd<T>(&m, &n, &columns, x, &ld, y, &rows, sv, &rcond, r, w, &lw, iw, status);
      } else {
        lapack::gelss<T>(&m, &n, &columns, x, &ld, y, &rows, sv, &rcond, r, w, &lw, status);
      }
    }
  }
  void ask() {
    T answer(0);
    R reals(0);
    int integers = 0, none = 0;
    solve(nullptr, nullptr, nullptr, &none, &answer, -1, &reals, given.driver == Driver::gelsd ? &integers : nullptr, &none);
    lwork = narrow_int(asked(answer));
    integer_work = given.driver == Driver::gelsy ? n : std::max(integers, 1);
    real_work = given.driver == Driver::gelsd ? asked(reals) : 5 * int64_t(std::max(m, n));
  }
};

double flops(const Call& c) {
  const double m = double(c[arg::self].size(-2)), n = double(c[arg::self].size(-1)), k = std::min(m, n);
  return 2 * double(count({c.spec[0].sizes, size_t(c.spec[0].ndim) - 2})) * m * n * (k + double(c[arg::b].size(-1)));
}

// X = pinv(A) B.
void backward(Grad& g) {
  if (!g.g().defined()) return;
  const Tensor a = g.in(arg::self).contiguous(), p = call(Op::linalg_pinv_, a, Arg(), Arg(), false);
  if (g.needs(arg::b)) g.set(arg::b, matmul(mH(p), g.g()));
  if (g.needs(arg::self)) g.set(arg::self, pseudo_gradient(a, p, matmul(g.g(), mH(g.in(arg::b).contiguous()))));
}

void plan(Call& c) {
  Parameters p;
  for (int d = 0; d < 4; ++d)
    if (c[arg::driver] == kDrivers[d]) p.driver = Driver(d);
  p.rcond = c.has(arg::rcond) ? c[arg::rcond] : default_rtol(c[arg::self]);
  plan_matrices<Routine>(c, p);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "linalg_least_squares(Tensor self, Tensor b, float? rcond, str driver) -> (Tensor solution, Tensor rank, Tensor "
        "singular_values)",
    .doc =
        "X of least |self X - b|, of least norm where there are several; linalg.lstsq calls it. Rank and singular values are "
        "meaningful for the drivers that compute them.",
    .amp = Amp::f32,
    .internal = true,
    .samples =
        "linalg_least_squares(randn(4, 3), randn(4, 2), None, 'gelsd')\n"
        "linalg_least_squares(randn(2, 3, 5), randn(2, 3, 1), None, 'gelsd')\n"
        "linalg_least_squares(randn(4, 3), randn(2, 4, 2), None, 'gelss')",
    .bad =
        "linalg_least_squares(zeros(2, 2), zeros(2, 1), None, 'qr') => linalg.lstsq: unknown driver \"qr\"; the known ones are "
        "gels, gelsy, gelsd and gelss",
    .skip = "second_output: numbers and singular values are not differentiated",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::self) | in(arg::b), in(arg::self)},
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_least_squares_op
