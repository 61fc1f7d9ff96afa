#include "corridor/batching.h"
#include "ops/linalg/general_eigen.h"

namespace dyadic::inline v1::ops::linalg_eigenvalues_op {
namespace {

constexpr const char* kName = "linalg.eigvals";

void infer(Call& c) {
  const Tensor& a = c[arg::self];
  check_square(kName, a, "self");
  set_spec(c.spec[0], a, complex_for(a), batch_of(a), {a.size(-1)});
}

template <class T> struct Routine : GeneralEigen<T> {
  Routine(const Matrices& given, Scratch& s) : GeneralEigen<T>(given, s, "N") {}
  void run() {
    this->decompose(kName);
    store(this->given.out[0], this->values, dtype_for<T>().to_complex());
  }
};

double flops(const Call& c) {
  const double n = double(c[arg::self].size(-1));
  return double(count(batch_of(c[arg::self]))) * 10 * n * n * n;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_eigenvalues(Tensor self) -> Tensor",
    .doc = "The complex eigenvalues [..., n] of square matrices, without gradient: linalg.eigvals calls it. LAPACK's geev.",
    .amp = Amp::f32,
    .internal = true,
    .samples =
        "linalg_eigenvalues(randn(3, 3))\n"
        "linalg_eigenvalues(randn(2, 4, 4))\n"
        "linalg_eigenvalues(zeros(0, 0))\n"
        "linalg_eigenvalues(zeros(0, 2, 2))",
    .bad = "linalg_eigenvalues(zeros(2, 3)) => linalg.eigvals: needs square matrices: self is f32[2, 3]",
    .infer = infer,
    .flops = flops,
    .complex_kernel = true,
};
extern constexpr Kernel cpu = {.plan = plan_matrices<Routine>};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::linalg_eigenvalues_op
