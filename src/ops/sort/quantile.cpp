#include "ops/common.h"
#include "ops/sort/quantiles.h"

namespace dyadic::inline v1::ops::quantile_op {
namespace {

Tensor compose(Args a) {
  return quantile_of("quantile", a[arg::self], a[arg::q], a.arg(arg::dim), a[arg::keepdim],
                     {a.arg(arg::interpolation).text, a.arg(arg::interpolation).n}, false);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
    .doc =
        "The values below which the shares q (1-d or 0-d, in [0, 1]) of the entries of dim lie; several q come first in the "
        "result. Between two entries: linear, lower, higher, midpoint or nearest.",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .low = 0,
    .high = 1,
    .samples =
        "quantile(randn(3, 4), rand(3), 1)\n"
        "quantile(randn(3, 4), rand(), 0, True)\n"
        "quantile(randn(7), rand(2), None, False, 'nearest')",
    .bad = "quantile(zeros(2), zeros(2, 2)) => quantile: q has at most one dimension: q is f32[2, 2]",
    .skip = "grad: q rounds to another place",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::quantile_op
