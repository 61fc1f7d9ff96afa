#include "ops/composite.h"

namespace dyadic::inline v1::ops::multi_margin_loss_op {
namespace {

Tensor compose(Args a) {
  Tensor x = a[arg::input], t = a[arg::target];
  check_float("multi_margin_loss", a[arg::input], "input");
  DY_CHECK_AS(ValueError, a[arg::p] == 1 || a[arg::p] == 2, "multi_margin_loss: p is 1 or 2: p is {}", a[arg::p]);
  DY_CHECK_AS(TypeError, t.dtype() == i64, "multi_margin_loss: targets are class numbers in int64: target is {}", describe(t));
  const bool single = x.dim() <= 1;
  if (x.dim() == 0) x = unsqueeze(x, 0);
  if (single) x = unsqueeze(x, 0), t = t.reshape({1});
  DY_CHECK(x.dim() == 2 && t.dim() == 1 && x.size(0) == t.size(0),
           "multi_margin_loss: sizes do not fit: input is {}, target is {}", describe(a[arg::input]), describe(a[arg::target]));
  const int64_t n = x.size(0), classes = x.size(1), rows[] = {1};
  x = dense(x);
  Tensor w = lookup(a.has(arg::weight) ? a[arg::weight] : ones({classes}, x.dtype(), x.device()), t);
  Tensor own = lookup(x.reshape({n * classes}), add(mul(arange(0, n, 1, i64, x.device()), classes), t));
  Tensor d = at_least_zero(add(sub(x, unsqueeze(own, 1)), a[arg::margin]));
  if (a[arg::p] == 2) d = square(d);
  d = where(eq(arange(0, classes, 1, i64, x.device()), unsqueeze(t, 1)), scalar_tensor(0.0), d);
  Tensor r = div(mul(sum(d, rows), w), double(classes));
  return reduced("multi_margin_loss", single && a[arg::reduction] == "none" ? squeeze(r, 0) : r, a[arg::reduction]);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "multi_margin_loss(Tensor input, Tensor target, int p=1, float margin=1.0, Tensor? weight=None, str reduction='mean') "
        "-> Tensor",
    .doc =
        "The mean over classes i other than y = target of weight[y] max(0, margin - input[y] + input[i])^p: input [N, C] or "
        "[C], p 1 or 2.",
    .kind = OpKind::composite,
    .low = 0.1,
    .high = 2,
    .samples =
        "multi_margin_loss(randn(3, 4), indices(4; 3))\n"
        "multi_margin_loss(randn(3, 4), indices(4; 3), 2, 0.5, rand(4), 'none')",
    .bad = "multi_margin_loss(zeros(2, 3), indices(3; 2), 3) => multi_margin_loss: p is 1 or 2: p is 3",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::multi_margin_loss_op
