#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops::fft_irfft_op {
namespace {

Tensor compose(Args a) {
  return transform_half("fft.irfft", a[arg::self], a.arg(arg::n), a[arg::dim], a.arg(arg::norm), Direction::inverse);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "fft_irfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
    .doc =
        "The inverse of rfft: n real numbers, 2 (m - 1) of m values if absent. norm: backward (scales the inverse by 1 / n), "
        "forward or ortho (both by 1 / sqrt(n)).",
    .kind = OpKind::composite,
    .samples =
        "fft_irfft(randn(2, 5; complex))\n"
        "fft_irfft(randn(3, 5; complex), 5, 0, 'ortho')\n"
        "fft_irfft(randn(6; complex), 7, -1, 'forward')",
    .bad = "fft_irfft(randn(1; complex)) => fft.irfft: a transform has at least one element: n is 0, self is c64[1]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::fft_irfft_op
