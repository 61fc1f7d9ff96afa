#include "ops/common.h"

namespace dyadic::inline v1::ops::column_stack_op {
namespace {

Tensor compose(Args a) {
  std::vector<Tensor> parts;
  for (const Tensor& t : a[arg::tensors]) parts.push_back(t.dim() < 2 ? reshape(t, {t.numel(), 1}) : t);
  DY_CHECK(!parts.empty(), "column_stack: an empty list of tensors");
  return cat(parts, 1);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "column_stack(Tensor[] tensors) -> Tensor",
    .doc = "Tensors joined along the second dimension; 1-d ones are columns.",
    .kind = OpKind::composite,
    .samples = "column_stack([randn(2), randn(2, 3)])",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::column_stack_op
