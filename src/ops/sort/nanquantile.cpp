#include "ops/common.h"
#include "ops/sort/quantiles.h"

namespace dyadic::inline v1::ops::nanquantile_op {
namespace {

Tensor compose(Args a) {
  return quantile_of("nanquantile", a[arg::self], a[arg::q], a.arg(arg::dim), a[arg::keepdim],
                     {a.arg(arg::interpolation).text, a.arg(arg::interpolation).n}, true);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
    .doc =
        "The values below which the shares q (1-d or 0-d, in [0, 1]) of the entries of dim lie, NaN left out; several q come "
        "first in the result. Between two entries: linear, lower, higher, midpoint or nearest.",
    .kind = OpKind::composite,
    .amp = Amp::f32,
    .low = 0,
    .high = 1,
    .samples =
        "nanquantile(randn(3, 4), rand(3), 1)\n"
        "nanquantile(randn(3, 4), rand(), 0, True)\n"
        "nanquantile(randn(7), rand(2), None, False, 'nearest')",
    .bad = "nanquantile(zeros(2), zeros(2, 2)) => nanquantile: q has at most one dimension: q is f32[2, 2]",
    .skip = "grad: q rounds to another place",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::nanquantile_op
