#include "ops/linalg/matrices.h"

namespace dyadic::inline v1::ops::linalg_tensorsolve_op {
namespace {

Tensor compose(Args a) {
  const char* who = "linalg.tensorsolve";
  Tensor t = a[arg::self];
  const Tensor& b = a[arg::other];
  if (a.has(arg::dims)) {
    std::vector<int64_t> to;
    for (int64_t k = 0; k < int64_t(a.arg(arg::dims).n); ++k) to.push_back(t.dim() - int64_t(a.arg(arg::dims).n) + k);
    t = movedim(t, ints_of(a.arg(arg::dims)), to);
  }
  std::vector<int64_t> sizes(t.sizes().begin() + std::min(b.dim(), t.dim()), t.sizes().end());
  DY_CHECK(count(sizes) == b.numel() && t.numel() == b.numel() * b.numel(),
           "{}: sizes do not fit: A is {}, B is {}; A's are B's and others of the same product", who, describe(a[arg::self]),
           describe(b));
  return call(Op::linalg_solve_, t.reshape({b.numel(), b.numel()}), b.reshape({b.numel()}), true).reshape(sizes);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
    .doc = "X of tensordot(A, X, X.dim()) = B; dims of A are moved to its end first.",
    .kind = OpKind::composite,
    .samples =
        "linalg_tensorsolve(randn(2, 2, 4), randn(2, 2))\n"
        "linalg_tensorsolve(randn(4, 2, 2), randn(2, 2), [0])",
    .bad =
        "linalg_tensorsolve(zeros(2, 3, 4), zeros(2, 3)) => linalg.tensorsolve: sizes do not fit: A is f32[2, 3, 4], B is "
        "f32[2, "
        "3]; A's are B's and others of the same product",
    .skip = "layout_bits: products of the gradient add in an order that strides decide",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::linalg_tensorsolve_op
