#include "ops/common.h"

namespace dyadic::inline v1::ops::isin_op {
namespace {

Tensor compose(Args a) {
  NoGrad guard;
  const DType common = result_type(a, 2);
  const Tensor x = to(a[arg::elements], common), tests = reshape(to(a[arg::test_elements], common), {-1});
  if (tests.numel() == 0) return full(x.sizes(), a[arg::invert], boolean, x.device());
  const Tensor order = sort(tests, 0).values;
  const Tensor at = clamp(searchsorted(order, x), 0, tests.numel() - 1);
  const Tensor found = eq(take(order, at), x);
  return a[arg::invert] ? logical_not(found) : found;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "isin(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
    .doc = "For each element whether it is among test_elements.",
    .kind = OpKind::composite,
    .samples =
        "isin(steps(3, 4), steps(5))\n"
        "isin(steps(3), steps(0))\n"
        "isin(steps(3), steps(2, 2), False, True)",
    .skip = "gradcheck: truth has none",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::isin_op
