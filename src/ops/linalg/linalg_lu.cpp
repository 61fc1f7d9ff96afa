#include "ops/linalg/lu.h"

namespace dyadic::inline v1::ops::linalg_lu_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor &t = a[arg::A], x = widened(t);
  check_matrix("linalg.lu", t, "A");
  const std::vector<Tensor> r = call_all(Op::linalg_lu_factor_ex_, x, a[arg::pivot], false);
  const Tensor p = permutation(row_order(r[1], x.size(-2)), x.dtype());
  return {like(p, t), like(unit_lower(r[0]), t), like(upper(r[0]), t)};
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
    .doc =
        "A = P L U: a permutation [..., m, m], a lower triangular matrix with ones on its diagonal [..., m, k] and an upper "
        "one "
        "[..., k, n], k = min(m, n). Singular matrices have factors too.",
    .kind = OpKind::composite,
    .samples =
        "linalg_lu(randn(3, 3))\n"
        "linalg_lu(randn(2, 4, 3))\n"
        "linalg_lu(randn(3, 5))",
    .bad = "linalg_lu(zeros(3)) => linalg.lu: needs a matrix, or a batch of them: A is f32[3]",
    .skip =
        "threads: those of linalg_lu_factor_ex, which is tested\n"
        "layout_bits: products of the gradient add in an order that strides decide",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_lu_op
