#include <cmath>

#include "ops/linalg/norms.h"

namespace dyadic::inline v1::ops::linalg_cond_op {
namespace {

Tensor compose(Args a) {
  const char* who = "linalg.cond";
  const Tensor &t = a[arg::self], x = widened(t);
  check_matrix(who, t, "A");
  const double p = !a.has(arg::p) ? 2 : a[arg::p].real();
  if (t.size(-1) == 0 || t.size(-2) == 0) return zeros(batch_of(t), plain(t).to_real(), t.device());
  if (std::abs(p) == 2) {
    const Tensor s = call(Op::linalg_svdvals_, x, Arg());
    const Tensor first = select(s, -1, 0), last = select(s, -1, -1);
    return like(p > 0 ? div(first, last) : div(last, first), t);
  }
  check_square(who, t, "A");
  const std::vector<Tensor> r = call_all(Op::linalg_inv_ex_, x, false);
  const Tensor found = mul(matrix_norm(who, x, p, {-2, -1}, false), matrix_norm(who, r[0], p, {-2, -1}, false));
  return like(where(eq(r[1], 0), found, full(found.sizes(), HUGE_VAL, found.dtype(), found.device())), t);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_cond(Tensor self, Scalar? p=None) -> Tensor",
    .doc =
        "Condition numbers norm(A) norm(A^-1) in the p-norm of matrices (1, -1, inf, -inf; 2, the default, and -2 from "
        "singular "
        "values, of any shape); inf for singular matrices.",
    .kind = OpKind::composite,
    .samples =
        "linalg_cond(randn(3, 4))\n"
        "linalg_cond(spd(2, 3, 3), 1)\n"
        "linalg_cond(spd(3, 3), -2)",
    .bad = "linalg_cond(zeros(2, 3), 1) => linalg.cond: needs square matrices: A is f32[2, 3]",
    .skip = "layout_bits: products of the gradient add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_cond_op
