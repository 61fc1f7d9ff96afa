#include "ops/composite.h"

namespace dyadic::inline v1::ops::kl_div_op {
namespace {

Tensor compose(Args a) {
  const Tensor &x = a[arg::input], &t = a[arg::target];
  check_float("kl_div", a[arg::input], "input");
  Tensor safe = a[arg::log_target] ? Tensor() : where(ne(t, 0.0), t, scalar_tensor(1.0));
  Tensor r = a[arg::log_target] ? mul(exp(t), sub(t, x)) : sub(mul(safe, log(safe)), mul(t, x));
  if (a[arg::reduction] != "batchmean") return reduced("kl_div", r, a[arg::reduction]);
  return x.dim() ? div(sum(r), double(x.size(0))) : sum(r);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "kl_div(Tensor input, Tensor target, str reduction='mean', bool log_target=False) -> Tensor",
    .doc =
        "target (log(target) - input), the divergence of target from exp(input); log_target: target holds logarithms. "
        "batchmean divides the sum by size(0).",
    .kind = OpKind::composite,
    .low = 0.05,
    .high = 1,
    .samples =
        "kl_div(rand(2, 3), rand(2, 3))\n"
        "kl_div(rand(2, 3), rand(2, 3), 'batchmean')\n"
        "kl_div(randn(2, 3), randn(2, 3), 'none', True)\n"
        "kl_div(randn(2, 3), rand(2, 3), 'none')",
    .bad = "kl_div(zeros(2), zeros(2), 'avg') => kl_div: unknown reduction \"avg\"; the known ones are none, mean and sum",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::kl_div_op
