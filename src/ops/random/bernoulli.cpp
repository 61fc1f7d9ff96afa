#include "ops/composite.h"
#include "ops/demand.h"

namespace dyadic::inline v1::ops::bernoulli_op {
namespace {

Tensor drawn(const Tensor& p) {
  check_float("bernoulli", p, "self");
  const NoGrad guard;
  demand_all("bernoulli", logical_and(ge(p, 0), le(p, 1)),
             [&] { return fmt::format("bernoulli: a probability is not within 0 and 1, or NaN: self is {}", describe(p)); });
  const DType d = plain(p);
  return to(lt(rand(p.sizes(), d == f64 ? f64 : f32, p.device()), p.detach()), d);
}
Tensor compose(Args a) { return constant_in(drawn(a[arg::self]), a[arg::self]); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "bernoulli(Tensor self) -> Tensor",
    .doc = "1 with the probability that self holds, else 0. Its gradient is 0.",
    .kind = OpKind::composite,
    .samples = "bernoulli(rand(2, 3))\nbernoulli(rand())",
    .bad = "bernoulli(indices(3; 2)) => bernoulli: needs a floating-point tensor: self is i64[2]; convert with .to(f32) first",
    .skip =
        "cost: drawing numbers counts as bytes\n"
        "gradcheck: a draw has no gradient\n"
        "double_backward: its gradient is constant",
    .compose = compose,
    .random = true,
};

}  // namespace dyadic::inline v1::ops::bernoulli_op
