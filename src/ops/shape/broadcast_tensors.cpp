#include "ops/common.h"

namespace dyadic::inline v1::ops::broadcast_tensors_op {
namespace {

std::vector<Tensor> compose(Args a) {
  Spec common;
  broadcast_shapes("broadcast_tensors", common, a, 1);
  std::vector<Tensor> out;
  for (const Tensor& t : a[arg::tensors]) out.push_back(expand(t, common.shape()));
  return out;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "broadcast_tensors(Tensor[] *tensors) -> Tensor[]",
    .doc = "The tensors expanded to their common shape.",
    .kind = OpKind::composite,
    .samples =
        "broadcast_tensors([randn(2, 1), randn(3)])\n"
        "broadcast_tensors([randn(), randn(2)])",
    .skip = "threads: the result has the product of the sizes",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::broadcast_tensors_op
