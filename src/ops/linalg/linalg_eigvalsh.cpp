#include "corridor/batching.h"
#include "ops/linalg/hermitian.h"

namespace dyadic::inline v1::ops::linalg_eigvalsh_op {
namespace {

constexpr const char* kName = "linalg.eigvalsh";

void infer(Call& c) {
  const Tensor& a = c[arg::A];
  check_square(kName, a, "A");
  check_uplo(kName, c[arg::UPLO]);
  set_spec(c.spec[0], a, plain(a).to_real(), batch_of(a), {a.size(-1)});
}

template <class T> struct Routine : Hermitian<T> {
  Routine(const HermitianMatrices& given, Scratch& s) : Hermitian<T>(given, s, "N") {}
  void run() {
    this->decompose(kName);
    store(this->given.out[0], this->w, dtype_for<T>().to_real());
  }
};

// The vectors are computed for the gradient alone: V diag(g) V^H.
void backward(Grad& g) {
  const std::string_view uplo = g[arg::UPLO];
  const Tensor v = call_all(Op::linalg_eigh_, g.in(arg::A), uplo)[1];
  g.set(arg::A, matmul(mul(v, unsqueeze(g.g(), -2)), mH(v)));
}
double flops(const Call& c) { return hermitian_flops(c[arg::A], 4.0 / 3); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_eigvalsh(Tensor A, str UPLO='L') -> Tensor",
    .doc =
        "The real eigenvalues [..., n] of Hermitian matrices, ascending, of which only the lower triangle is read (UPLO='U': "
        "the "
        "upper one). LAPACK's syevd and heevd.",
    .amp = Amp::f32,
    .samples =
        "linalg_eigvalsh(spd(3, 3))\n"
        "linalg_eigvalsh(spd(2, 4, 4), 'U')\n"
        "linalg_eigvalsh(zeros(0, 0))\n"
        "linalg_eigvalsh(zeros(0, 2, 2))",
    .bad = "linalg_eigvalsh(zeros(2, 3)) => linalg.eigvalsh: needs square matrices: A is f32[2, 3]",
    .skip =
        "gradcheck: the gradient is that of Hermitian matrices; tests/ops/linalg_test.cpp checks it\n"
        "double_backward: the same",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::A)},
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan_hermitian<Routine>};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_eigvalsh_op
