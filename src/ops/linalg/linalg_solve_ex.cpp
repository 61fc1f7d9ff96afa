#include "ops/linalg/lu.h"

namespace dyadic::inline v1::ops::linalg_solve_ex_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor &m = a[arg::A], &b = a[arg::B];
  const char* who = "linalg.solve";
  const bool left = a[arg::left];
  check_square(who, m, "A");
  // A vector per matrix: B lacks exactly A's last dimension.
  const bool vector = b.dim() == 1 || (b.dim() == m.dim() - 1 && b.sizes() == IntList(m.sizes().begin(), m.sizes().size() - 1));
  DY_CHECK(left || !vector, "{}: a vector of unknowns stands right of A: B is {}; use left=True", who, describe(b));
  const Tensor x = widened(m), y = widened(vector ? unsqueeze(b, -1) : b);
  const Tensor lhs = left ? x : mH(x), rhs = left ? y : mH(y);
  std::vector<Tensor> r = call_all(Op::linalg_solve_factored_, lhs, rhs);
  if (a[arg::check_errors]) check_factors(who, r[3], m);
  const Tensor found = left ? r[0] : mH(r[0]);
  return {like(vector ? squeeze(found, -1) : found, m), r[3]};
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)",
    .doc =
        "linalg.solve that reports singular matrices in info (the place, from 1, of the first zero on U's diagonal) in place "
        "of "
        "an error.",
    .kind = OpKind::composite,
    .samples =
        "linalg_solve_ex(spd(3, 3), randn(3, 2))\n"
        "linalg_solve_ex(spd(3, 3), randn(2, 3), False)",
    .skip =
        "threads: those of linalg_solve_factored, which is tested\n"
        "second_output: info is whole numbers\n"
        "layout_bits: products of the gradient add in an order that strides decide",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_solve_ex_op
