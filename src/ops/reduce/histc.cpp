#include <cmath>

#include "ops/common.h"

namespace dyadic::inline v1::ops::histc_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  check_float("histc", t, "self");
  const int64_t bins = a[arg::bins];
  DY_CHECK(bins > 0, "histc: the number of bins is not positive: bins is {}", bins);
  check_has_values("histc", t);
  NoGrad guard;
  double low = a[arg::min].real(), high = a[arg::max].real();
  if (low == high && t.numel()) low = amin(t).item(), high = amax(t).item();
  if (low == high) low -= 1, high += 1;
  DY_CHECK(std::isfinite(low) && std::isfinite(high), "histc: the range is not finite: [{}, {}]", low, high);
  DY_CHECK(low < high, "histc: max is below min: min is {}, max is {}", low, high);
  return to(call(Op::count_bins_, t, low, high, bins), plain(t));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
    .doc =
        "How many elements fall into each of so many equal bins between min and max (of the elements, if both are 0); the last "
        "bin includes max. What is outside is not counted.",
    .kind = OpKind::composite,
    .samples =
        "histc(randn(3, 4), 5)\n"
        "histc(randn(9), 4, -1, 1)",
    .bad =
        "histc(zeros(2), 0) => histc: the number of bins is not positive: bins is 0\n"
        "histc(zeros(2), 3, 2, 1) => histc: max is below min: min is 2, max is 1",
    .skip =
        "meta: it looks at the range first\n"
        "gradcheck: a count has none\n"
        "values: bins begin where f64 rounds otherwise",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::histc_op
