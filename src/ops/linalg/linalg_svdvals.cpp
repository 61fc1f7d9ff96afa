#include "corridor/batching.h"
#include "ops/linalg/singular.h"

namespace dyadic::inline v1::ops::linalg_svdvals_op {
namespace {

constexpr const char* kName = "linalg.svdvals";

void infer(Call& c) {
  const Tensor& a = c[arg::A];
  check_matrix(kName, a, "A");
  DY_CHECK(!c.has(arg::driver), "{}: drivers are cuSOLVER's, on cpu there is one: driver is \"{}\"; leave it out", kName,
           c[arg::driver]);
  set_spec(c.spec[0], a, plain(a).to_real(), batch_of(a), {std::min(a.size(-2), a.size(-1))});
}

template <class T> struct Routine : Singular<T> {
  Routine(const Matrices& given, Scratch& s) : Singular<T>(given, s, "N") {}
  void run() {
    this->decompose(kName);
    store(this->given.out[0], this->s, dtype_for<T>().to_real());
  }
};

// The vectors are computed for the gradient alone: U diag(g) Vh.
void backward(Grad& g) {
  const std::vector<Tensor> r = call_all(Op::linalg_svd_, g.in(arg::A), false, Arg());
  g.set(arg::A, matmul(mul(r[0], unsqueeze(g.g(), -2)), r[2]));
}
double flops(const Call& c) { return singular_flops(c[arg::A], 0); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
    .doc = "The singular values [..., min(m, n)] of matrices [..., m, n], in falling order. LAPACK's gesdd.",
    .amp = Amp::f32,
    .samples =
        "linalg_svdvals(randn(3, 3))\n"
        "linalg_svdvals(randn(2, 4, 3))\n"
        "linalg_svdvals(randn(3, 5))\n"
        "linalg_svdvals(zeros(0, 3))\n"
        "linalg_svdvals(zeros(0, 2, 3))",
    .bad = "linalg_svdvals(zeros(3)) => linalg.svdvals: needs a matrix, or a batch of them: A is f32[3]",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::A)},
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan_matrices<Routine>};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_svdvals_op
