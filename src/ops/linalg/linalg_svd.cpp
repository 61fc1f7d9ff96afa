#include "corridor/batching.h"
#include "ops/linalg/singular.h"

namespace dyadic::inline v1::ops::linalg_svd_op {
namespace {

constexpr const char* kName = "linalg.svd";

void infer(Call& c) {
  const Tensor& a = c[arg::A];
  check_matrix(kName, a, "A");
  DY_CHECK(!c.has(arg::driver), "{}: drivers are cuSOLVER's, on cpu there is one: driver is \"{}\"; leave it out", kName,
           c[arg::driver]);
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  const bool full = c[arg::full_matrices];
  set_spec(c.spec[0], a, plain(a), batch_of(a), {m, full ? m : k});
  set_spec(c.spec[1], a, plain(a).to_real(), batch_of(a), {k});
  set_spec(c.spec[2], a, plain(a), batch_of(a), {full ? n : k, n});
  c.nout = 3;
}

struct Parameters : Matrices {
  bool full;
};
template <class T> struct Routine : Singular<T> {
  Routine(const Parameters& given, Scratch& s) : Singular<T>(given, s, given.full ? "A" : "S") {}
  void run() {
    this->decompose(kName);
    const DType type = dtype_for<T>();
    store_columns(this->given.out[0], this->u, type, this->m, int64_t(this->m) * this->u_columns);
    store(this->given.out[1], this->s, type.to_real());
    store_columns(this->given.out[2], this->vt, type, this->vt_rows, int64_t(this->n) * this->vt_rows);
  }
};

Tensor skew(const Tensor& t) { return sub(t, mH(t)); }
Tensor scale_columns(const Tensor& t, const Tensor& s) { return mul(t, unsqueeze(s, -2)); }
Tensor scale_rows(const Tensor& t, const Tensor& s) { return mul(t, unsqueeze(s, -1)); }

// U [(skew(U^H gU) / E) S + S (skew(V^H gV) / E) + diag gS] V^H, E_ij = s_j^2 - s_i^2, and what leaves the spaces of U and V
// (Townsend, Differentiating the Singular Value Decomposition, 2016). Of complex matrices phases are free: what the result does
// not determine is not differentiated, nor are the vectors beyond the singular values.
Tensor gradient(const Tensor& u, const Tensor& s, const Tensor& vh, const Tensor& gu, const Tensor& gs, const Tensor& gvh) {
  const int64_t m = u.size(-2), n = vh.size(-1), k = s.size(-1);
  if (!gu.defined() && !gvh.defined()) return m >= n ? matmul(u, scale_rows(vh, gs)) : matmul(scale_columns(u, gs), vh);
  const Tensor square_s = square(s), apart = sub(unsqueeze(square_s, -2), unsqueeze(square_s, -1));
  const Tensor e = add(apart, eye(k, {}, s.dtype(), s.device()));
  const Tensor uhgu = gu.defined() ? skew(matmul(mH(u), gu)) : Tensor(),
               vhgv = gvh.defined() ? skew(matmul(vh, mH(gvh))) : Tensor();
  Tensor middle;
  if (uhgu.defined()) middle = scale_columns(div(uhgu, e), s);
  if (vhgv.defined()) {
    const Tensor right = scale_rows(div(vhgv, e), s);
    middle = middle.defined() ? add(middle, right) : right;
  }
  if (gs.defined()) middle = add(middle, diag_embed(to(gs, u.dtype())));
  if (u.dtype().is_complex() && uhgu.defined()) middle = add(middle, diag_embed(div(diagonal(uhgu, 0, -2, -1), mul(s, 2.0))));
  Tensor left = matmul(u, middle);
  if (m > k && gu.defined()) {
    const Tensor out = scale_columns(gu, reciprocal(s));
    left = add(left, sub(out, matmul(u, matmul(mH(u), out))));
  }
  Tensor result = matmul(left, vh);
  if (n > k && gvh.defined()) {
    const Tensor out = scale_rows(gvh, reciprocal(s));
    result = add(result, matmul(u, sub(out, matmul(matmul(out, mH(vh)), vh))));
  }
  return result;
}

void backward(Grad& g) {
  if (!g.g(0).defined() && !g.g(1).defined() && !g.g(2).defined()) return;
  const Tensor u = g.out(0), s = g.out(1), vh = g.out(2);
  const int64_t k = s.size(-1);
  auto first = [&](const Tensor& t, int64_t dim) { return t.defined() && t.size(dim) != k ? narrow(t, dim, 0, k) : t; };
  g.set(arg::A, gradient(first(u, -1), s, first(vh, -2), first(g.g(0), -1), g.g(1), first(g.g(2), -2)));
}
double flops(const Call& c) { return singular_flops(c[arg::A], 18); }

void plan(Call& c) {
  Parameters p;
  p.full = c[arg::full_matrices];
  plan_matrices<Routine>(c, p);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
    .doc =
        "A = U diag(S) Vh with singular values in falling order. A [..., m, n], k = min(m, n): U [..., m, m], S [..., k], Vh "
        "[..., n, n]; full_matrices=False: U [..., m, k], Vh [..., k, n]. Signs (phases) of the vectors are the algorithm's, "
        "LAPACK's gesdd; gradients through them are finite where singular values differ. LinAlgError where it does not "
        "converge.",
    .amp = Amp::f32,
    .samples =
        "linalg_svd(randn(3, 3))\n"
        "linalg_svd(randn(2, 4, 3), False)\n"
        "linalg_svd(randn(3, 5), False)\n"
        "linalg_svd(zeros(0, 3), False)\n"
        "linalg_svd(zeros(3, 0), False)\n"
        "linalg_svd(zeros(0, 2, 3), False)",
    .bad =
        "linalg_svd(zeros(2, 2), True, 'gesvda') => linalg.svd: drivers are cuSOLVER's, on cpu there is one: driver is "
        "\"gesvda\"; leave it out",
    .skip = "torch: signs of vectors are the library's; tests/ops/linalg_test.cpp puts matrices together again",
    .infer = infer,
    .backward = backward,
    .needs = {out(0) | out(1) | out(2)},
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_svd_op
