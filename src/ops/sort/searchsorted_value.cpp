#include "ops/common.h"

namespace dyadic::inline v1::ops::searchsorted_value_op {
namespace {

Tensor compose(const Arg* a) {
  const DType d = plain(*a[0].tensor);
  const bool fits = d.is_floating_point() || a[1].scalar.kind() != Scalar::Kind::real;  // 0.5 among integers stays what it is
  const Tensor value = to(scalar_tensor(a[1].scalar), fits ? d : f64).to(a[0].tensor->device());
  return call(Op::searchsorted_, *a[0].tensor, value, a[2].boolean, a[3].boolean, a[4], a[5]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "searchsorted.value(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, "
        "Tensor? sorter=None) -> Tensor",
    .doc = "searchsorted of a number.",
    .kind = OpKind::composite,
    .samples = "searchsorted_value(zeros(5), 0.5)",
    .skip =
        "gradcheck: places have none\n"
        "cost: indices are not arithmetic\n"
        "meta: a number is brought to meta",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::searchsorted_value_op
