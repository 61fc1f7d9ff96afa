#include "corridor/batching.h"
#include "ops/linalg/general_eigen.h"

namespace dyadic::inline v1::ops::linalg_eig_op {
namespace {

constexpr const char* kName = "linalg.eig";

void infer(Call& c) {
  const Tensor& a = c[arg::self];
  check_square(kName, a, "self");
  set_spec(c.spec[0], a, complex_for(a), batch_of(a), {a.size(-1)});
  set_spec(c.spec[1], a, complex_for(a), batch_of(a), {a.size(-2), a.size(-1)});
  c.nout = 2;
}

template <class T> struct Routine : GeneralEigen<T> {
  Routine(const Matrices& given, Scratch& s) : GeneralEigen<T>(given, s, "V") {}
  void run() {
    this->decompose(kName);
    store(this->given.out[0], this->values, dtype_for<T>().to_complex());
    store_columns(this->given.out[1], this->vectors, dtype_for<T>().to_complex(), this->n, int64_t(this->n) * this->n);
  }
};

// V^-H ((V^H gV - V^H V diag Re(V^H gV)) / E^*, on the diagonal gL) V^H, E_ij = L_j - L_i: vectors have length 1.
void backward(Grad& g) {
  if (!g.g(0).defined() && !g.g(1).defined()) return;
  const Tensor l = g.out(0), v = g.out(1), vh = mH(v);
  Tensor middle;
  if (g.g(1).defined()) {
    const Tensor p = matmul(vh, g.g(1)), lengths = real(diagonal(p, 0, -2, -1));
    const Tensor free = sub(p, mul(matmul(vh, v), unsqueeze(lengths, -2)));
    const Tensor apart = add(conj(sub(unsqueeze(l, -2), unsqueeze(l, -1))), eye_like(l, l.size(-1)));
    const Tensor on = g.g(0).defined() ? g.g(0) : zeros(l.sizes(), l.dtype(), l.device());
    middle = matmul(diagonal_scatter(div(free, apart), on, 0, -2, -1), vh);
  } else {
    middle = mul(vh, unsqueeze(g.g(0), -1));
  }
  const Tensor r = call_all(Op::linalg_solve_factored_, vh, middle)[0];
  g.set(arg::self, g.in_meta(arg::self).dtype.is_complex() ? r : real(r));
}
double flops(const Call& c) {
  const double n = double(c[arg::self].size(-1));
  return double(count(batch_of(c[arg::self]))) * 25 * n * n * n;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
    .doc =
        "self V = V diag(L) for square matrices: complex eigenvalues [..., n], in no order, and vectors of length 1 as "
        "columns, "
        "whose phases are the algorithm's, LAPACK's geev. The gradient is finite where eigenvalues differ.",
    .amp = Amp::f32,
    .samples =
        "linalg_eig(randn(3, 3))\n"
        "linalg_eig(randn(2, 4, 4))\n"
        "linalg_eig(zeros(0, 0))\n"
        "linalg_eig(zeros(0, 2, 2))",
    .bad = "linalg_eig(zeros(2, 3)) => linalg.eig: needs square matrices: self is f32[2, 3]",
    .skip =
        "values: the algorithm's order and phases; tests/ops/linalg_test.cpp puts matrices together again\n"
        "grad: the same\n"
        "gradcheck: complex results; tests/ops/linalg_test.cpp checks it\n"
        "double_backward: the same",
    .infer = infer,
    .backward = backward,
    .needs = {out(0) | out(1)},
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan_matrices<Routine>};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_eig_op
