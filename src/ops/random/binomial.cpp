#include "ops/common.h"

namespace dyadic::inline v1::ops::binomial_op {
namespace {

Tensor compose(Args a) {
  const Tensor &count = a[arg::count], &prob = a[arg::prob];
  check_float("binomial", count, "count");
  check_float("binomial", prob, "prob");
  const std::vector<Tensor> both = broadcast_tensors(std::vector<Tensor>{count.detach(), prob.detach()});
  const DType d = promote_types(plain(count), plain(prob));
  return call(Op::draw_binomial_, to(both[0], d), to(both[1], d));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "binomial(Tensor count, Tensor prob) -> Tensor",
    .doc =
        "Successes of count trials, each with probability prob; the shapes broadcast. NaN of what is no count or probability. "
        "No gradient.",
    .kind = OpKind::composite,
    .low = 0,
    .high = 1,
    .samples = "binomial(rand(2, 3), rand(3))\nbinomial(rand(), rand())",
    .bad =
        "binomial(zeros(2), indices(3; 2)) => binomial: needs a floating-point tensor: prob is i64[2]; convert with .to(f32) "
        "first",
    .skip =
        "cost: drawing numbers counts as bytes\n"
        "gradcheck: a draw has no gradient\n"
        "double_backward: it has no first one",
    .compose = compose,
    .random = true,
};

}  // namespace dyadic::inline v1::ops::binomial_op
