#include "ops/common.h"
#include "ops/sort/quantiles.h"

namespace dyadic::inline v1::ops::quantile_value_op {
namespace {

Tensor compose(Args a) {
  return quantile_of("quantile", a[arg::self], full({}, a[arg::q], plain(a[arg::self]), a[arg::self].device()), a.arg(arg::dim),
                     a[arg::keepdim], {a.arg(arg::interpolation).text, a.arg(arg::interpolation).n}, false);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "quantile.value(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
    .doc = "quantile of one q.",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .samples =
        "quantile_value(randn(3, 4), 0.3, 1)\n"
        "quantile_value(randn(3, 4), 0.5)\n"
        "quantile_value(randn(3, 4), 0.7, 0, True, 'midpoint')\n"
        "quantile_value(randn(5), 0.4, 0, False, 'lower')\n"
        "quantile_value(randn(5), 0.4, 0, False, 'higher')",
    .bad =
        "quantile_value(zeros(2), 0.5, 0, False, 'middle') => quantile: unknown interpolation \"middle\"; the known ones are "
        "linear, lower, higher, midpoint, nearest",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::quantile_value_op
