#include "ops/common.h"

namespace dyadic::inline v1::ops::linalg_solve_op {
namespace {

Tensor compose(Args a) { return call_all(Op::linalg_solve_ex_, a[arg::A], a[arg::B], a[arg::left], true)[0]; }

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
    .doc =
        "X of A X = B (left=False: X A = B) for square A [..., n, n] and B [..., n, k], or [..., n] where its batch is A's; "
        "batches broadcast. LinAlgError names the first singular matrix. LAPACK's getrf and getrs.",
    .kind = OpKind::composite,
    .samples =
        "linalg_solve(spd(3, 3), randn(3, 2))\n"
        "linalg_solve(randn(3, 3), randn(3))\n"
        "linalg_solve(spd(2, 3, 3), randn(2, 3))\n"
        "linalg_solve(spd(2, 3, 3), randn(3, 1))\n"
        "linalg_solve(spd(3, 3), randn(2, 3), False)\n"
        "linalg_solve(zeros(0, 0), zeros(0, 2))\n"
        "linalg_solve(zeros(0, 2, 2), zeros(2, 1))",
    .bad =
        "linalg_solve(zeros(2, 2), ones(2)) => linalg.solve: the matrix is singular: A is f32[2, 2]: element 1 of the diagonal "
        "of U is zero; use linalg.pinv or linalg.lstsq\n"
        "linalg_solve(ones(2, 3), ones(2)) => linalg.solve: needs square matrices: A is f32[2, 3]\n"
        "linalg_solve(ones(2, 2), ones(2), False) => linalg.solve: a vector of unknowns stands right of A: B is f32[2]; use "
        "left=True",
    .skip =
        "threads: those of linalg_solve_factored, which is tested\n"
        "layout_bits: products of the gradient add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_solve_op
