#include "corridor/batching.h"
#include "ops/linalg/hermitian.h"

namespace dyadic::inline v1::ops::linalg_eigh_op {
namespace {

constexpr const char* kName = "linalg.eigh";

void infer(Call& c) {
  const Tensor& a = c[arg::A];
  check_square(kName, a, "A");
  check_uplo(kName, c[arg::UPLO]);
  set_spec(c.spec[0], a, plain(a).to_real(), batch_of(a), {a.size(-1)});
  set_spec(c.spec[1], a, plain(a), batch_of(a), {a.size(-2), a.size(-1)});
  c.nout = 2;
}

template <class T> struct Routine : Hermitian<T> {
  Routine(const HermitianMatrices& given, Scratch& s) : Hermitian<T>(given, s, "V") {}
  void run() {
    this->decompose(kName);
    store(this->given.out[0], this->w, dtype_for<T>().to_real());
    store_columns(this->given.out[1], this->a, dtype_for<T>(), this->n, int64_t(this->n) * this->n);
  }
};

// V ((V^H gV) / E, on the diagonal gL) V^H, E_ij = L_j - L_i.
void backward(Grad& g) {
  if (!g.g(0).defined() && !g.g(1).defined()) return;
  const Tensor l = g.out(0), v = g.out(1);
  if (!g.g(1).defined()) return g.set(arg::A, matmul(mul(v, unsqueeze(g.g(0), -2)), mH(v)));
  const Tensor apart = add(sub(unsqueeze(l, -2), unsqueeze(l, -1)), eye_like(l, l.size(-1)));
  Tensor middle = div(matmul(mH(v), g.g(1)), apart);
  const Tensor on = g.g(0).defined() ? to(g.g(0), v.dtype()) : zeros(l.sizes(), v.dtype(), v.device());
  middle = diagonal_scatter(middle, on, 0, -2, -1);
  g.set(arg::A, matmul(matmul(v, middle), mH(v)));
}
double flops(const Call& c) { return hermitian_flops(c[arg::A], 9); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_eigh(Tensor A, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)",
    .doc =
        "A = V diag(L) V^H for Hermitian matrices, of which only the lower triangle is read (UPLO='U': the upper one): real "
        "eigenvalues [..., n], ascending, and orthonormal vectors as columns. Their signs (phases) are the algorithm's, "
        "LAPACK's "
        "syevd and heevd. The gradient takes A for Hermitian and is finite where eigenvalues differ.",
    .amp = Amp::f32,
    .samples =
        "linalg_eigh(spd(3, 3))\n"
        "linalg_eigh(spd(2, 3, 3), 'U')\n"
        "linalg_eigh(randn(3, 3))\n"
        "linalg_eigh(zeros(0, 0))\n"
        "linalg_eigh(zeros(0, 2, 2))",
    .bad = "linalg_eigh(zeros(2, 2), 'A') => linalg.eigh: unknown triangle: UPLO is \"A\"; the known ones are L and U",
    .skip =
        "torch: signs of vectors are the library's; tests/ops/linalg_test.cpp puts matrices together again\n"
        "gradcheck: the gradient is that of Hermitian matrices; tests/ops/linalg_test.cpp checks it\n"
        "double_backward: the same",
    .infer = infer,
    .backward = backward,
    .needs = {out(0) | out(1)},
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan_hermitian<Routine>};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_eigh_op
