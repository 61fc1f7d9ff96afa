#include "ops/norm/norm.h"

namespace dyadic::inline v1::ops::pairwise_distance_op {
namespace {

Tensor compose(const Arg* args) {
  const Frame a(args);
  Tensor d = add(sub(a.tensor(0), a.tensor(1)), a.real(3));
  return vector_norm(d, a.real(2), {-1}, a.boolean(4));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False) -> Tensor",
    .doc = "The p-norm of x1 - x2 + eps along the last dimension.",
    .kind = OpKind::composite,
    .samples =
        "pairwise_distance(randn(2, 3), randn(2, 3))\n"
        "pairwise_distance(randn(3), randn(2, 3), 1.0, 1e-06, True)",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::pairwise_distance_op
