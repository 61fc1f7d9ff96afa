#include <cmath>

#include "corridor/batching.h"
#include "ops/linalg/pseudo.h"
#include "ops/linalg/singular.h"

namespace dyadic::inline v1::ops::linalg_pinv_op {
namespace {

constexpr const char* kName = "linalg.pinv";

void infer(Call& c) {
  const Tensor& a = c[arg::A];
  c[arg::hermitian] ? check_square(kName, a, "A") : check_matrix(kName, a, "A");
  set_spec(c.spec[0], a, plain(a), batch_of(a), {a.size(-1), a.size(-2)});
}

struct Parameters : Matrices {
  double atol, rtol;
  bool hermitian;
};
template <class T> struct Routine : Singular<T> {
  using R = lapack::Real<T>;
  const Parameters& own;
  T* inverse;
  Routine(const Parameters& given, Scratch& s) : Singular<T>(given, s, "S"), own(given) {
    inverse = s.take<T>(this->batch * this->m * this->n);
  }
  void run() {
    this->decompose(kName, own.hermitian);
    const int m = this->m, n = this->n, k = this->k;
    for_each_matrix(this->batch, [&](int64_t i, int64_t) {
      const R* s = this->s + i * k;
      T *u = this->u + i * m * k, *vt = this->vt + i * k * n, *to = inverse + i * n * m;
      const double least = k ? std::max(own.atol, own.rtol * double(s[0])) : 0;
      for (int64_t j = 0; j < k; ++j)
        for (int64_t r = 0; r < m; ++r) u[j * m + r] *= double(s[j]) > least ? R(1) / s[j] : R(0);
      const T one(1), zero(0);
      const int ldu = std::max(m, 1), ldv = std::max(k, 1), ldt = std::max(n, 1);
      if (m && n) lapack::gemm<T>("C", "C", &n, &m, &k, &one, vt, &ldv, u, &ldu, &zero, to, &ldt, 1, 1);
    });
    store_columns(own.out[0], inverse, dtype_for<T>(), n, int64_t(n) * m);
  }
};

// Of Hermitian matrices it is that of the whole matrix, as PyTorch's.
void backward(Grad& g) {
  const Tensor a = g.in(arg::A).contiguous();
  g.set(arg::A, pseudo_gradient(g[arg::hermitian] ? add(tril(a), mH(tril(a, -1))) : a, g.out(0), g.g()));
}
double flops(const Call& c) { return singular_flops(c[arg::A], 18); }

void plan(Call& c) {
  Parameters p;
  p.atol = c.has(arg::atol) ? c[arg::atol] : 0;
  p.rtol = c.has(arg::rtol) ? c[arg::rtol] : p.atol > 0 ? 0 : default_rtol(c[arg::A]);
  p.hermitian = c[arg::hermitian];
  plan_matrices<Routine>(c, p);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_pinv(Tensor A, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
    .doc =
        "The Moore-Penrose inverse [..., n, m] of matrices [..., m, n]: singular values up to max(atol, rtol * the largest) "
        "count "
        "as zero. Without tolerances rtol is max(m, n) eps. hermitian: what stands above the diagonals is not read.",
    .amp = Amp::f32,
    .samples =
        "linalg_pinv(randn(3, 3))\n"
        "linalg_pinv(randn(2, 4, 3))\n"
        "linalg_pinv(randn(3, 5))\n"
        "linalg_pinv(zeros(0, 3))\n"
        "linalg_pinv(zeros(0, 2, 3))",
    .bad = "linalg_pinv(zeros(2, 3), None, None, True) => linalg.pinv: needs square matrices: A is f32[2, 3]",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::A) | out(0)},
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_pinv_op
