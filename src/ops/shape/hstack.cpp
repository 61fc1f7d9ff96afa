#include "ops/common.h"

namespace dyadic::inline v1::ops::hstack_op {
namespace {

Tensor compose(Args a) {
  std::vector<Tensor> parts;
  for (const Tensor& t : a[arg::tensors]) parts.push_back(atleast_1d(t));
  DY_CHECK(!parts.empty(), "hstack: an empty list of tensors");
  return cat(parts, parts[0].dim() == 1 ? 0 : 1);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "hstack(Tensor[] tensors) -> Tensor",
    .doc = "Tensors joined along the second dimension; 1-d ones along the first.",
    .kind = OpKind::composite,
    .samples =
        "hstack([randn(2, 3), randn(2, 1)])\n"
        "hstack([randn(2), randn()])",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::hstack_op
