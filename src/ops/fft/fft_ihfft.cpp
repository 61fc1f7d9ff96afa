#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops::fft_ihfft_op {
namespace {

Tensor compose(Args a) {
  return transform_real("fft.ihfft", a[arg::self], a.arg(arg::n), a[arg::dim], a.arg(arg::norm), Direction::inverse);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "fft_ihfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
    .doc =
        "The inverse of hfft: the first n / 2 + 1 values of a Hermitian signal. norm: backward (scales the inverse by 1 / n), "
        "forward or ortho (both by 1 / sqrt(n)).",
    .kind = OpKind::composite,
    .samples =
        "fft_ihfft(randn(2, 8))\n"
        "fft_ihfft(randn(3, 5), 7, 0, 'ortho')",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::fft_ihfft_op
