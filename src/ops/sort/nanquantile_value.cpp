#include "ops/common.h"
#include "ops/sort/quantiles.h"

namespace dyadic::inline v1::ops::nanquantile_value_op {
namespace {

Tensor compose(const Arg* a) {
  return quantile_of("nanquantile", *a[0].tensor, full({}, a[1].real, plain(*a[0].tensor), a[0].tensor->device()), a[2],
                     a[3].boolean, {a[4].text, a[4].n}, true);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "nanquantile.value(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
    .doc = "nanquantile of one q.",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .samples =
        "nanquantile_value(randn(3, 4), 0.3, 1)\n"
        "nanquantile_value(randn(3, 4), 0.5)\n"
        "nanquantile_value(randn(3, 4), 0.7, 0, True, 'midpoint')\n"
        "nanquantile_value(randn(5), 0.4, 0, False, 'lower')\n"
        "nanquantile_value(randn(5), 0.4, 0, False, 'higher')",
    .bad =
        "nanquantile_value(zeros(2), 0.5, 0, False, 'middle') => nanquantile: unknown interpolation \"middle\"; the known ones "
        "are linear, lower, higher, midpoint, nearest",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::nanquantile_value_op
