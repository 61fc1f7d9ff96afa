#include "ops/linalg/matrices.h"

namespace dyadic::inline v1::ops::linalg_cholesky_op {
namespace {

Tensor compose(Args a) {
  const Tensor &t = a[arg::self], x = widened(t);
  check_square("linalg.cholesky", t, "self");
  const std::vector<Tensor> r = call_all(Op::linalg_cholesky_ex_, x, a[arg::upper], false);
  check_info("linalg.cholesky", r[1], t, "self", "not positive definite", "its leading minor of order {} is not",
             "add a little to its diagonal, or use linalg.eigh");
  return like(r[0], t);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
    .doc =
        "The Cholesky factor of Hermitian positive definite matrices: self = L L^H (upper: U^H U); LinAlgError names the first "
        "that is not.",
    .kind = OpKind::composite,
    .samples =
        "linalg_cholesky(spd(3, 3))\n"
        "linalg_cholesky(spd(2, 4, 4), True)",
    .bad =
        "linalg_cholesky(zeros(2, 2)) => linalg.cholesky: not positive definite: self is f32[2, 2]: its leading minor of order "
        "1 "
        "is not; add a little to its diagonal, or use linalg.eigh\n"
        "linalg_cholesky(zeros(2, 1, 2, 2)) => linalg.cholesky: not positive definite: self is f32[2, 1, 2, 2], batch element "
        "[0, 0]: its leading minor of order 1 is not; add a little to its diagonal, or use linalg.eigh",
    .skip =
        "threads: those of linalg_cholesky_ex, which is tested\n"
        "gradcheck: the gradient is that of Hermitian matrices; tests/ops/linalg_test.cpp checks it\n"
        "double_backward: the same",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_cholesky_op
