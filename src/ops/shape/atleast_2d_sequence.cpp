#include "ops/common.h"

namespace dyadic::inline v1::ops::atleast_2d_sequence_op {
namespace {

std::vector<Tensor> compose(Args a) {
  std::vector<Tensor> out;
  for (const Tensor& t : a[arg::tensors]) out.push_back(atleast_2d(t));
  return out;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "atleast_2d.sequence(Tensor[] *tensors) -> Tensor[]",
    .doc = "Each of the tensors as atleast_2d makes it.",
    .kind = OpKind::composite,
    .samples = "atleast_2d_sequence([randn(), randn(2, 3)])",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::atleast_2d_sequence_op
