#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops::fft_hfft_op {
namespace {

Tensor compose(Args a) {
  return transform_half("fft.hfft", a[arg::self], a.arg(arg::n), a[arg::dim], a.arg(arg::norm), Direction::forward);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "fft_hfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
    .doc =
        "The real Fourier transform of a Hermitian signal given by its first half. norm: backward (scales the inverse by 1 / "
        "n), forward or ortho (both by 1 / sqrt(n)).",
    .kind = OpKind::composite,
    .samples =
        "fft_hfft(randn(2, 5; complex))\n"
        "fft_hfft(randn(3, 5; complex), 5, 0, 'ortho')",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::fft_hfft_op
