#include "ops/common.h"
#include "ops/sort/quantiles.h"

namespace dyadic::inline v1::ops::quantile_value_op {
namespace {

Tensor compose(const Arg* a) {
  return quantile_of("quantile", *a[0].tensor, full({}, a[1].real, plain(*a[0].tensor), a[0].tensor->device()), a[2],
                     a[3].boolean, {a[4].text, a[4].n}, false);
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
