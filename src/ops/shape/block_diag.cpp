#include "ops/common.h"

namespace dyadic::inline v1::ops::block_diag_op {
namespace {

Tensor compose(Args a) {
  std::vector<Tensor> rows;
  int64_t width = 0, at = 0;
  for (const Tensor& t : a[arg::tensors]) {
    DY_CHECK(t.dim() <= 2, "block_diag: needs matrices: one is {}", describe(t));
    width += t.dim() ? t.size(-1) : 1;
  }
  DY_CHECK(a.arg(arg::tensors).n > 0, "block_diag: an empty list of tensors");
  for (const Tensor& given : a[arg::tensors]) {
    const Tensor t = atleast_2d(given);
    rows.push_back(constant_pad_nd(t, {at, width - at - t.size(1)}));
    at += t.size(1);
  }
  return cat(rows, 0);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "block_diag(Tensor[] *tensors) -> Tensor",
    .doc = "The matrix with the given ones along its diagonal, zeros elsewhere.",
    .kind = OpKind::composite,
    .samples =
        "block_diag([randn(2, 3), randn(1, 2)])\n"
        "block_diag([randn(2), randn()])",
    .bad = "block_diag([zeros(1, 2, 3)]) => block_diag: needs matrices: one is f32[1, 2, 3]",
    .skip = "threads: the result has the product of the sizes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::block_diag_op
