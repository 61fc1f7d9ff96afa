#include "ops/common.h"

namespace dyadic::inline v1::ops::vstack_op {
namespace {

Tensor compose(Args a) {
  std::vector<Tensor> parts;
  for (const Tensor& t : a[arg::tensors]) parts.push_back(atleast_2d(t));
  DY_CHECK(!parts.empty(), "vstack: an empty list of tensors");
  return cat(parts, 0);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "vstack(Tensor[] tensors) -> Tensor",
    .doc = "Tensors joined along the first dimension; 1-d ones are rows.",
    .aliases = "row_stack",
    .kind = OpKind::composite,
    .samples = "vstack([randn(2, 3), randn(3)])",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::vstack_op
