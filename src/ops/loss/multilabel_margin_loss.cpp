#include "ops/composite.h"

namespace dyadic::inline v1::ops::multilabel_margin_loss_op {
namespace {

Tensor compose(Args a) {
  Tensor x = a[arg::input], t = a[arg::target];
  DY_CHECK_AS(TypeError, t.dtype() == i64, "multilabel_margin_loss: targets are class numbers in int64: target is {}",
              describe(t));
  DY_CHECK(x.sizes() == t.sizes() && x.dim() <= 2, "multilabel_margin_loss: sizes do not fit: input is {}, target is {}",
           describe(x), describe(t));
  const bool single = x.dim() <= 1;
  if (x.dim() == 0) x = unsqueeze(x, 0), t = unsqueeze(t, 0);
  if (single) x = unsqueeze(x, 0), t = unsqueeze(t, 0);
  const int64_t n = x.size(0), classes = x.size(1), inner[] = {1, 2}, labels[] = {1};
  x = dense(x);
  Tensor ends = matmul(lt(t, 0).to(f32), triu(ones({classes, classes}, f32, x.device())));  // how many -1 so far
  Tensor valid = eq(ends, 0.0), known = where(valid, t, scalar_tensor(0));
  Tensor hot = logical_and(eq(arange(0, classes, 1, i64, x.device()), unsqueeze(known, 2)), unsqueeze(valid, 2));
  Tensor rows = unsqueeze(mul(arange(0, n, 1, i64, x.device()), classes), 1);
  Tensor own = lookup(x.reshape({n * classes}), add(rows, known));
  Tensor d = at_least_zero(add(sub(unsqueeze(x, 1), unsqueeze(own, 2)), 1.0));
  Tensor counts = logical_and(unsqueeze(valid, 2), logical_not(unsqueeze(any(hot, labels), 1)));
  Tensor r = div(sum(where(counts, d, scalar_tensor(0.0)), inner), double(classes));
  return reduced("multilabel_margin_loss", single && a[arg::reduction] == "none" ? squeeze(r, 0) : r, a[arg::reduction]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "multilabel_margin_loss(Tensor input, Tensor target, str reduction='mean') -> Tensor",
    .doc =
        "The sum over labels j and other classes i of max(0, 1 - input[j] + input[i]), over the number of classes: input and "
        "target [N, C] or [C], a row's labels end at the first -1.",
    .kind = OpKind::composite,
    .samples =
        "multilabel_margin_loss(randn(3, 4), indices(4; 3, 4))\n"
        "multilabel_margin_loss(randn(4), indices(4; 4), 'sum')",
    .bad =
        "multilabel_margin_loss(zeros(2, 3), indices(3; 2)) => multilabel_margin_loss: sizes do not fit: input is f32[2, 3], "
        "target is i64[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::multilabel_margin_loss_op
