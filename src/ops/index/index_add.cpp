#include "ops/common.h"

namespace dyadic::inline v1::ops::index_add_op {
namespace {

Tensor compose(Args a) {
  const bool one = a[arg::alpha].kind() == Scalar::Kind::real ? a[arg::alpha].real() == 1 : a[arg::alpha].integer() == 1;
  const Tensor& source = a[arg::source];
  const Tensor terms = one ? source : to(mul(source, a[arg::alpha]), plain(source));
  return call(Op::index_sum_, a[arg::self], a[arg::dim], a[arg::index], terms);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    .doc =
        "self with the entries of source, times alpha, added along dim where index (int64, one dimension) says, in the order "
        "of the index, whatever the number of threads.",
    .kind = OpKind::composite,
    .inplace = true,
    .samples =
        "index_add(randn(3, 4), 0, indices(3; 5), randn(5, 4), 2)\n"
        "index_add(randn(3, 2), -1, indices(2; 3), randn(3, 3))",
    .bad =
        "index_add(zeros(2, 3), 0, indices(2; 2), zeros(2, 2)) => index_add: the sizes do not fit: source is f32[2, 2] for 2 "
        "places along dimension 0 of f32[2, 3]",
    .compose = compose,
    .index = arg::index.at,
};

}  // namespace dyadic::inline v1::ops::index_add_op
