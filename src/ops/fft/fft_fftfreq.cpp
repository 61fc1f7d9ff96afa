#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops::fft_fftfreq_op {
namespace {

Tensor compose(Args a) {
  const int64_t n = a[arg::n];
  DY_CHECK(n >= 1, "fft.fftfreq: a transform has at least one element: n is {}", n);
  const DType d = !a.has(arg::dtype) ? default_dtype() : a[arg::dtype];
  const Device device = !a.has(arg::device) ? cpu : a[arg::device];
  const Tensor parts[] = {arange(0, (n - 1) / 2 + 1, 1, i64, device), arange(-(n / 2), 0, 1, i64, device)};
  const Tensor k = cat(parts, 0);
  return to(mul(to(k, f64), 1 / (double(n) * a[arg::d])), d);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "fft_fftfreq(int n, float d=1, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "The frequencies that belong to the values of fft, in cycles per unit of the spacing d.",
    .kind = OpKind::composite,
    .samples =
        "fft_fftfreq(5)\n"
        "fft_fftfreq(6, 0.5)",
    .bad = "fft_fftfreq(0) => fft.fftfreq: a transform has at least one element: n is 0",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::fft_fftfreq_op
