#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* a) {
  Tensor x = *a[0].tensor, t = *a[1].tensor;
  std::string_view how(a[2].text, a[2].n);
  int64_t reduction = how == "none" ? 0 : how == "mean" ? 1 : how == "sum" ? 2 : -1;
  DY_CHECK_AS(ValueError, reduction >= 0, "cross_entropy: unknown reduction \"{}\"; the known ones are none, mean and sum",
              how);
  std::vector<int64_t> shape = t.sizes().vec();
  if (x.dim() == 1 && t.dim() == 0) x = unsqueeze(x, 0), t = unsqueeze(t, 0);
  DY_CHECK(x.dim() >= 2 && x.dim() == t.dim() + 1,
           "cross_entropy: sizes do not fit: input is {}, target is {}; input is [N, C] or [N, C, ...], target [N, ...]",
           describe(*a[0].tensor), describe(*a[1].tensor));
  for (int64_t d = 2; d < x.dim(); ++d) x = x.transpose(d - 1, d);  // classes last
  x = dense(x).view({-1, x.size(-1)});
  t = t.contiguous().view({-1});
  Arg args[] = {x, t, reduction, a[3].integer};
  Tensor out[2];
  call_op(Op::cross_entropy_loss_, args, 4, out);
  return reduction ? out[0] : out[0].view(shape);
}

}  // namespace

extern constexpr OpDef cross_entropy_op = {
    .sig = "cross_entropy(Tensor input, Tensor target, str reduction='mean', int ignore_index=-100) -> Tensor",
    .doc =
        "-log softmax(input)[target] in nats: logits [N, C] or [N, C, ...], targets int64 [N, ...]. mean divides by the "
        "targets that are not ignored.",
    .kind = OpKind::composite,
    .samples =
        "cross_entropy(randn(4, 5), indices(5; 4), 'sum', -100)\ncross_entropy(randn(2, 5, 3), indices(5; 2, 3), 'mean', 1)",
    .bad =
        "cross_entropy(zeros(2, 3), indices(3; 3), 'mean', -100) => cross_entropy: sizes do not fit: input is f32[2, 3], "
        "target is i64[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops
