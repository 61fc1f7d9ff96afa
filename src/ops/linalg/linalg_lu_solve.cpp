#include "ops/linalg/lu.h"

namespace dyadic::inline v1::ops::linalg_lu_solve_op {
namespace {

constexpr const char* kName = "linalg.lu_solve";

// X A = B is A^H X^H = B^H. A = P^T L U: two triangular systems, so that gradients follow from theirs.
Tensor compose(Args a) {
  const Tensor &lu = a[arg::LU], &pivots = a[arg::pivots], &b = a[arg::B];
  const bool left = a[arg::left], adjoint = a[arg::adjoint];
  check_square(kName, lu, "LU");
  check_matrix(kName, b, "B");
  check_same_dtype(kName, lu, b, "LU", "B");
  check_pivots(kName, pivots, "pivots");
  const int64_t n = lu.size(-1);
  DY_CHECK(n == b.size(left ? -2 : -1) && pivots.sizes() == IntList(lu.sizes().begin(), lu.sizes().size() - 1),
           "{}: sizes do not fit: LU is {}, pivots is {}, B is {}", kName, describe(lu), describe(pivots), describe(b));
  const Tensor f = widened(lu), given = widened(b), rhs = left ? given : mH(given), order = row_order(pivots, n);
  const std::vector<int64_t> batch = common_batch(kName, f, rhs, "LU", "B");
  std::vector<int64_t> rows = batch, sizes = batch;
  rows.push_back(n);
  sizes.insert(sizes.end(), {n, rhs.size(-1)});
  const bool transposed = adjoint == left;
  auto solve = [](const Tensor& t, const Tensor& y, bool up, bool unit) {
    return call(Op::linalg_solve_triangular_, t, y, up, true, unit);
  };
  Tensor x;
  if (transposed) {
    const Tensor h = mH(f), y = solve(h, solve(h, rhs, false, false), true, true);
    x = permute_rows(expand(y, sizes), expand(argsort(order), rows));
  } else {
    x = solve(f, solve(f, permute_rows(expand(rhs, sizes), expand(order, rows)), false, true), true, false);
  }
  return like(left ? x : mH(x), b);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
    .doc =
        "X of A X = B (left=False: X A = B; adjoint: A^H in place of A) from the factors of A that lu_factor gives; batches "
        "broadcast.",
    .kind = OpKind::composite,
    .samples =
        "linalg_lu_solve(spd(3, 3), indices(4; 3), randn(3, 2))\n"
        "linalg_lu_solve(spd(3, 3), indices(4; 3), randn(2, 2, 3), False)\n"
        "linalg_lu_solve(spd(3, 3), indices(4; 3), randn(2, 3, 2), True, True)\n"
        "linalg_lu_solve(spd(3, 3), indices(4; 3), randn(2, 3), False, True)",
    .bad =
        "linalg_lu_solve(zeros(3, 3), indices(4; 3), zeros(2, 2)) => linalg.lu_solve: sizes do not fit: LU is f32[3, 3], "
        "pivots "
        "is i64[3], B is f32[2, 2]",
    .skip = "layout_bits: products add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_lu_solve_op
