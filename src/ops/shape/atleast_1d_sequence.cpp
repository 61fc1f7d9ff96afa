#include "ops/common.h"

namespace dyadic::inline v1::ops::atleast_1d_sequence_op {
namespace {

std::vector<Tensor> compose(Args a) {
  std::vector<Tensor> out;
  for (const Tensor& t : a[arg::tensors]) out.push_back(atleast_1d(t));
  return out;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "atleast_1d.sequence(Tensor[] *tensors) -> Tensor[]",
    .doc = "Each of the tensors as atleast_1d makes it.",
    .kind = OpKind::composite,
    .samples = "atleast_1d_sequence([randn(), randn(2, 3)])",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops::atleast_1d_sequence_op
