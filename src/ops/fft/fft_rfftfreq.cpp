#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops::fft_rfftfreq_op {
namespace {

Tensor compose(Args a) {
  const int64_t n = a[arg::n];
  DY_CHECK(n >= 1, "fft.rfftfreq: a transform has at least one element: n is {}", n);
  const DType d = !a.has(arg::dtype) ? default_dtype() : a[arg::dtype];
  const Device device = !a.has(arg::device) ? cpu : a[arg::device];
  const Tensor k = arange(0, n / 2 + 1, 1, i64, device);
  return to(mul(to(k, f64), 1 / (double(n) * a[arg::d])), d);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "fft_rfftfreq(int n, float d=1, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "The frequencies that belong to the values of rfft, in cycles per unit of the spacing d.",
    .kind = OpKind::composite,
    .samples =
        "fft_rfftfreq(5)\n"
        "fft_rfftfreq(6, 0.5)",
    .bad = "fft_rfftfreq(0) => fft.rfftfreq: a transform has at least one element: n is 0",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::fft_rfftfreq_op
