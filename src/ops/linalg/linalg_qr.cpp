#include <optional>

#include "corridor/batching.h"
#include "ops/linalg/reflections.h"

namespace dyadic::inline v1::ops::linalg_qr_op {
namespace {

constexpr const char* kName = "linalg.qr";

void infer(Call& c) {
  const Tensor& a = c[arg::A];
  check_matrix(kName, a, "A");
  const std::string_view mode = c[arg::mode];
  DY_CHECK_AS(ValueError, mode == "reduced" || mode == "complete" || mode == "r",
              "{}: unknown mode \"{}\"; the known ones are reduced, complete and r", kName, mode);
  const int64_t m = a.size(-2), n = a.size(-1), k = mode == "complete" ? m : std::min(m, n);
  mode == "r" ? set_spec(c.spec[0], a, plain(a), {}, {0}) : set_spec(c.spec[0], a, plain(a), batch_of(a), {m, k});
  set_spec(c.spec[1], a, plain(a), batch_of(a), {k, n});
  c.nout = 2;
}

struct Parameters : Matrices {
  bool complete, wants_q;
};
template <class T> struct Routine {
  using RealType = lapack::Real<T>;
  const Parameters& given;
  int64_t batch, step;
  int m, n, columns, lwork;  // columns: of Q; A's and Q's share one array
  bool wants_q;
  T *a, *r, *tau, *work;
  std::optional<Reflections<RealType>> large;  // one at a time: products use all threads

  Routine(const Parameters& given, Scratch& s)
      : given(given),
        batch(count(batch_of(given.in[0]))),
        m(narrow_int(given.in[0].size(-2))),
        n(narrow_int(given.in[0].size(-1))),
        columns(given.complete ? m : std::min(m, n)),
        wants_q(given.wants_q) {
    step = int64_t(m) * std::max(n, columns);
    lwork = scratch();
    a = s.take<T>(batch * step);
    r = s.take<T>(batch * m * n);
    tau = s.take<T>(pieces(batch) * std::min(m, n));
    work = s.take<T>(pieces(batch) * lwork);
    if (Reflections<T>::worthwhile(m, n)) large.emplace(m, n, columns, s);
  }
  void run() {
    const DType type = dtype_for<T>();
    load_columns(given.in[0], batch_of(given.in[0]), r, type);
    large ? run_large() : run_small();
    for (int64_t i = 0; i < batch * n; ++i) {
      T* column = r + i * m;
      std::fill(column + std::min(i % n + 1, int64_t(m)), column + m, T(0));
    }
    if (wants_q) store_columns(given.out[0], a, type, m, step);
    store_columns(given.out[1], r, type, m, int64_t(m) * n);
  }

 private:
  void run_large() {
    if constexpr (!lapack::is_complex<T>)
      for (int64_t i = 0; i < batch; ++i) {
        large->factor(r + i * m * n, m, tau);
        if (wants_q) large->form(r + i * m * n, m, tau, columns, a + i * step, m);
      }
  }
  void run_small() {
    const int k = std::min(m, n), ld = std::max(m, 1);
    for_each_matrix(batch, [&](int64_t i, int64_t piece) {
      T *q = a + i * step, *own = r + i * m * n, *t = tau + piece * k, *w = work + piece * lwork;
      int info = 0;
      lapack::geqrf<T>(&m, &n, own, &ld, t, w, &lwork, &info);
      if (wants_q) {
        std::copy(own, own + int64_t(m) * std::min(n, columns), q);
        std::fill(q + int64_t(m) * std::min(n, columns), q + int64_t(m) * columns, T(0));
        lapack::orgqr<T>(&m, &columns, &k, q, &ld, t, w, &lwork, &info);
      }
    });
  }
  int scratch() const {
    const int ask = -1, k = std::min(m, n), ld = std::max(m, 1);
    T for_qr(0), for_q(0);
    int info = 0;
    lapack::geqrf<T>(&m, &n, nullptr, &ld, nullptr, &for_qr, &ask, &info);
    lapack::orgqr<T>(&m, &columns, &k, nullptr, &ld, nullptr, &for_q, &ask, &info);
    return narrow_int(std::max({asked(for_qr), asked(for_q), int64_t(std::max(n, columns)), int64_t(1)}));
  }
};

double flops(const Call& c) {
  const Tensor& a = c[arg::A];
  const double m = double(a.size(-2)), n = double(a.size(-1)), k = std::min(m, n);
  const double factor = 2 * m * n * k - (m + n) * k * k + 2 * k * k * k / 3;
  return double(count(batch_of(a))) * (c[arg::mode] == "r" ? 1 : 2) * std::max(factor, 1.0);
}

// A = Q R with m >= n: (gQ + Q S) R^-H, S = U + U^H + Re diag, U the part above the diagonal of gR R^H - Q^H gQ.
Tensor tall_gradient(const Tensor& q, const Tensor& r, const Tensor& gq, const Tensor& gr) {
  Tensor m = gr.defined() ? matmul(gr, mH(r)) : Tensor();
  if (gq.defined()) m = m.defined() ? sub(m, matmul(mH(q), gq)) : neg(matmul(mH(q), gq));
  const Tensor u = triu(m, 1), diagonal_part = to(real(diagonal(m, 0, -2, -1)), m.dtype());
  Tensor x = matmul(q, add(add(u, mH(u)), diag_embed(diagonal_part)));
  if (gq.defined()) x = add(x, gq);
  return call(Op::linalg_solve_triangular_, mH(r), x, false, false, false);
}

void backward(Grad& g) {
  const Meta& shape = g.in_meta(arg::A);
  const int64_t m = shape.sizes[shape.ndim - 2], n = shape.sizes[shape.ndim - 1];
  const std::string_view mode = g[arg::mode];
  DY_CHECK(mode != "r", "{}: mode \"r\" has no gradient: Q is not kept; use mode \"reduced\"", kName);
  DY_CHECK(mode == "reduced" || m <= n,
           "{}: mode \"complete\" has no gradient for more rows than columns; use mode \"reduced\"", kName);
  if (!g.g(0).defined() && !g.g(1).defined()) return;
  const Tensor q = g.out(0), r = g.out(1);
  if (m >= n) return g.set(arg::A, tall_gradient(q, r, g.g(0), g.g(1)));
  // The first m columns X = Q U, the others Y = Q V.
  Tensor gq = g.g(0), gu, gy;
  if (g.g(1).defined()) {
    const Tensor gv = narrow(g.g(1), -1, m, n - m), more = matmul(matmul(q, narrow(r, -1, m, n - m)), mH(gv));
    gu = triu(narrow(g.g(1), -1, 0, m));
    gy = matmul(q, gv);
    gq = gq.defined() ? add(gq, more) : more;
  }
  const Tensor gx = tall_gradient(q, narrow(r, -1, 0, m), gq, gu);
  std::vector<int64_t> sizes(shape.sizes, shape.sizes + shape.ndim - 1);
  sizes.push_back(n - m);
  const Tensor parts[] = {gx, gy.defined() ? gy : zeros(sizes, gx.dtype(), gx.device())};
  g.set(arg::A, cat(parts, -1));
}

void plan(Call& c) {
  Parameters p;
  p.complete = c[arg::mode] == "complete", p.wants_q = c[arg::mode] != "r";
  plan_matrices<Routine>(c, p);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)",
    .doc =
        "A = Q R, Q with orthonormal columns, R upper triangular. reduced: Q [..., m, k], R [..., k, n], k = min(m, n); "
        "complete: Q [..., m, m], R [..., m, n]; r: R of reduced alone, Q is empty. LAPACK's geqrf: the diagonal of R is real "
        "and may be negative.",
    .amp = Amp::f32,
    .samples =
        "linalg_qr(randn(3, 3))\n"
        "linalg_qr(randn(2, 4, 3))\n"
        "linalg_qr(randn(3, 5))\n"
        "linalg_qr(randn(3, 4), 'complete')\n"
        "linalg_qr(zeros(0, 3))\n"
        "linalg_qr(zeros(3, 0))\n"
        "linalg_qr(zeros(0, 2, 3))",
    .bad = "linalg_qr(zeros(2, 2), 'full') => linalg.qr: unknown mode \"full\"; the known ones are reduced, complete and r",
    .infer = infer,
    .backward = backward,
    .needs = {out(0) | out(1)},
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_qr_op
