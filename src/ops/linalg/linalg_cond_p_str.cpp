#include <cmath>

#include "ops/linalg/norms.h"

namespace dyadic::inline v1::ops::linalg_cond_p_str_op {
namespace {

Tensor compose(Args a) {
  const char* who = "linalg.cond";
  const Tensor &t = a[arg::self], x = widened(t);
  const std::string_view p(a.arg(arg::p).text, a.arg(arg::p).n);
  check_square(who, t, "A");
  const std::vector<Tensor> r = call_all(Op::linalg_inv_ex_, x, false);
  const Tensor found = mul(matrix_norm(who, x, p, {-2, -1}, false), matrix_norm(who, r[0], p, {-2, -1}, false));
  return like(where(eq(r[1], 0), found, full(found.sizes(), HUGE_VAL, found.dtype(), found.device())), t);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_cond.p_str(Tensor self, str p) -> Tensor",
    .doc = "Condition numbers norm(A) norm(A^-1) in the norm of that name, fro or nuc.",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .samples =
        "linalg_cond_p_str(spd(3, 3), 'fro')\n"
        "linalg_cond_p_str(spd(2, 3, 3), 'nuc')",
    .bad = "linalg_cond_p_str(zeros(2, 2), 'l2') => linalg.cond: unknown norm \"l2\"; the known ones are fro, nuc and numbers",
    .skip = "layout_bits: products of the gradient add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_cond_p_str_op
