#include "ops/composite.h"

namespace dyadic::inline v1::ops::nll_loss_op {
namespace {

Tensor compose(Args a) {
  Tensor x = a[arg::input], t = a[arg::target];
  if (t.dtype() == u8) t = to(t, i64);
  DY_CHECK_AS(TypeError, t.dtype() == i64, "nll_loss: targets are class numbers in int64: target is {}", describe(t));
  check_float("nll_loss", x, "input");
  if (x.dim() == 1 && t.dim() == 0) x = unsqueeze(x, 0);
  DY_CHECK(x.dim() >= 1 && (x.dim() == t.dim() + 1 || x.dim() == 2),
           "nll_loss: sizes do not fit: input is {}, target is {}; input is [N, C] or [N, C, ...], target [N, ...]",
           describe(a[arg::input]), describe(t));
  const Tensor index = x.dim() == 2 ? t.reshape({t.numel()}) : t;
  for (int64_t d = 0; d < index.dim(); ++d)
    DY_CHECK_AS(ValueError, index.size(d) == x.size(d ? d + 1 : 0), "nll_loss: sizes do not fit: input is {}, target is {}",
                describe(a[arg::input]), describe(t));
  const std::vector<Tensor> picked =
      call_all(Op::negative_picks_, x, index, a[arg::ignore_index]);  // and how many are not ignored
  Tensor w, r = picked[0];
  if (a.has(arg::weight)) {
    DY_CHECK(a[arg::weight].dim() == 1 && a[arg::weight].size(0) == x.size(x.dim() > 1 ? 1 : 0),
             "nll_loss: weight has one entry per class: weight is {}, input is {}", describe(a[arg::weight]), describe(x));
    const Tensor ignored = eq(index, a[arg::ignore_index]);
    w = where(ignored, scalar_tensor(0.0), lookup(a[arg::weight], where(ignored, scalar_tensor(0), index)));
    r = mul(r, w);
  }
  if (a[arg::reduction] == "mean") return div(sum(r), w.defined() ? sum(w) : picked[1]);
  return reduced("nll_loss", a[arg::reduction] == "none" ? r.view(t.sizes()) : r, a[arg::reduction]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "nll_loss(Tensor input, Tensor target, Tensor? weight=None, int ignore_index=-100, str reduction='mean') -> Tensor",
    .doc =
        "-weight[target] input[target]: log-probabilities [N, C], [C] or [N, C, ...], class numbers int64 [N], [] or [N, ...]. "
        "mean divides by the weights of the targets that are not ignored.",
    .kind = OpKind::composite,
    .low = 0.1,
    .high = 2,
    .samples =
        "nll_loss(randn(4, 5), indices(5; 4))\n"
        "nll_loss(randn(2, 5, 3), indices(5; 2, 3), rand(5), 1, 'sum')\n"
        "nll_loss(randn(4, 5), indices(5; 4), None, 2, 'none')",
    .bad =
        "nll_loss(zeros(2, 3), zeros(2)) => nll_loss: targets are class numbers in int64: target is f32[2]\n"
        "nll_loss(zeros(2, 3, 2), indices(3; 2)) => nll_loss: sizes do not fit: input is f32[2, 3, 2], target is i64[2]; input "
        "is [N, C] or [N, C, ...], target [N, ...]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::nll_loss_op
