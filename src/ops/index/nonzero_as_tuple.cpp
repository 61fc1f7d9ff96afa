#include "ops/common.h"

namespace dyadic::inline v1::ops::nonzero_as_tuple_op {
namespace {

std::vector<Tensor> compose(Args a) {
  const Tensor rows = nonzero(a[arg::self]);
  if (!a[arg::as_tuple]) return {rows};
  if (a[arg::self].dim() == 0) return {reshape(constant_pad_nd(reshape(rows, {rows.size(0), 0}), {0, 1}), {-1})};
  return unbind(rows, 1);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "nonzero.as_tuple(Tensor self, *, bool as_tuple) -> Tensor[]",
    .doc = "nonzero with as_tuple=True: one index tensor per dimension, as an index takes them.",
    .kind = OpKind::composite,
    .samples =
        "nonzero_as_tuple(steps(3, 4), True)\n"
        "nonzero_as_tuple(steps(), True)",
    .skip =
        "meta: the size depends on values\n"
        "gradcheck: it has none\n"
        "cost: indices are not arithmetic",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::nonzero_as_tuple_op
