#include "ops/common.h"

namespace dyadic::inline v1::ops::dstack_op {
namespace {

Tensor compose(Args a) {
  std::vector<Tensor> parts;
  for (const Tensor& t : a[arg::tensors]) parts.push_back(atleast_3d(t));
  DY_CHECK(!parts.empty(), "dstack: an empty list of tensors");
  return cat(parts, 2);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "dstack(Tensor[] tensors) -> Tensor",
    .doc = "Tensors joined along the third dimension.",
    .kind = OpKind::composite,
    .samples =
        "dstack([randn(2, 3), randn(2, 3)])\n"
        "dstack([randn(2), randn(2)])",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::dstack_op
