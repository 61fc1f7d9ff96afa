#include <vector>

#include "ops/common.h"

namespace dyadic::inline v1::ops::stack_op {
namespace {

Tensor compose(Args a) {
  std::span<const Tensor> list{a.arg(arg::tensors).tensor, a.arg(arg::tensors).n};
  DY_CHECK(!list.empty(), "stack: an empty list of tensors");
  std::vector<Tensor> up;
  for (size_t k = 0; k < list.size(); ++k) {
    DY_CHECK(list[k].sizes() == list[0].sizes(), "stack: shapes differ: tensor 0 is {}, tensor {} is {}", describe(list[0]), k,
             describe(list[k]));
    up.push_back(unsqueeze(list[k], a[arg::dim]));
  }
  return cat(up, a[arg::dim]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "stack(Tensor[] tensors, int dim=0) -> Tensor",
    .doc = "Tensors of one shape joined along a new dimension.",
    .kind = OpKind::composite,
    .samples = "stack([randn(2, 3), randn(2, 3)], 1)",
    .bad = "stack([zeros(2), zeros(3)], 0) => stack: shapes differ: tensor 0 is f32[2], tensor 1 is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::stack_op
