#include "ops/common.h"

namespace dyadic::inline v1::ops::cartesian_prod_op {
namespace {

Tensor compose(Args a) {
  DY_CHECK(a.arg(arg::tensors).n > 0, "cartesian_prod: an empty list of tensors");
  for (const Tensor& t : a[arg::tensors]) DY_CHECK(t.dim() == 1, "cartesian_prod: needs 1-d tensors: one is {}", describe(t));
  if (a.arg(arg::tensors).n == 1) return a.arg(arg::tensors).tensor[0];
  std::vector<Tensor> columns;
  for (const Tensor& t : meshgrid(a[arg::tensors])) columns.push_back(reshape(t, {-1}));
  return stack(columns, 1);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "cartesian_prod(Tensor[] *tensors) -> Tensor",
    .doc = "All combinations of the elements of 1-d tensors, one per row, the last varying fastest.",
    .kind = OpKind::composite,
    .samples =
        "cartesian_prod([randn(2), randn(3)])\n"
        "cartesian_prod([randn(2)])",
    .bad = "cartesian_prod([zeros(2, 2)]) => cartesian_prod: needs 1-d tensors: one is f32[2, 2]",
    .skip = "threads: the result has the product of the sizes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::cartesian_prod_op
