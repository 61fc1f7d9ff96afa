#include "ops/linalg/matrices.h"

namespace dyadic::inline v1::ops::linalg_householder_product_op {
namespace {

// The first n columns of H_1 H_2 ... H_k, H_i = I - tau_i v_i v_i^H, from the last reflection to the first.
Tensor compose(Args a) {
  const char* who = "linalg.householder_product";
  const Tensor &t = a[arg::A], &tau = a[arg::tau], x = widened(t), scale = widened(tau);
  check_matrix(who, t, "A");
  check_same_dtype(who, t, tau, "A", "tau");
  const int64_t m = t.size(-2), n = t.size(-1), k = tau.dim() ? tau.size(-1) : -1;
  DY_CHECK(m >= n && k >= 0 && n >= k && tau.dim() == t.dim() - 1, "{}: sizes do not fit: A is {}, tau is {}", who, describe(t),
           describe(tau));
  const Tensor v = add(tril(x, -1), eye(m, n, x.dtype(), x.device()));
  std::vector<int64_t> sizes = batch_of(t).vec();
  sizes.insert(sizes.end(), {m, n});
  Tensor q = expand(eye(m, n, x.dtype(), x.device()), sizes);
  for (int64_t i = k; i-- > 0;) {
    const Tensor column = narrow(v, -1, i, 1), factor = unsqueeze(narrow(scale, -1, i, 1), -1);
    q = sub(q, mul(mul(column, factor), matmul(mH(column), q)));
  }
  return like(q, t);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_householder_product(Tensor A, Tensor tau) -> Tensor",
    .doc =
        "The first n columns of the product of the k reflections I - tau_i v_i v_i^H; v_i is column i of A [..., m, n] below "
        "the "
        "diagonal, 1 on it. tau: [..., k].",
    .aliases = "orgqr",
    .kind = OpKind::composite,
    .samples =
        "linalg_householder_product(randn(4, 3), randn(3))\n"
        "linalg_householder_product(randn(2, 4, 3), randn(2, 2))",
    .bad =
        "linalg_householder_product(zeros(2, 3), zeros(2)) => linalg.householder_product: sizes do not fit: A is f32[2, 3], "
        "tau "
        "is f32[2]",
    .skip = "layout_bits: products add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_householder_product_op
