#include "ops/common.h"

namespace dyadic::inline v1::ops::searchsorted_value_op {
namespace {

Tensor compose(Args a) {
  const DType d = plain(a[arg::sorted_sequence]);
  const bool fits = d.is_floating_point() || a[arg::self].kind() != Scalar::Kind::real;  // 0.5 among integers stays what it is
  const Tensor value = to(scalar_tensor(a[arg::self]), fits ? d : f64).to(a[arg::sorted_sequence].device());
  return call(Op::searchsorted_, a[arg::sorted_sequence], value, a[arg::out_int32], a[arg::right], a.arg(arg::side),
              a.arg(arg::sorter));
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
