#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops::fft_rfft_op {
namespace {

Tensor compose(Args a) {
  return transform_real("fft.rfft", a[arg::self], a.arg(arg::n), a[arg::dim], a.arg(arg::norm), Direction::forward);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "fft_rfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
    .doc =
        "The first n / 2 + 1 values of the Fourier transform of real numbers; the others are their conjugates. norm: backward "
        "(scales the inverse by 1 / n), forward or ortho (both by 1 / sqrt(n)).",
    .kind = OpKind::composite,
    .samples =
        "fft_rfft(randn(2, 8))\n"
        "fft_rfft(randn(3, 5), 7, 0, 'ortho')\n"
        "fft_rfft(randn(6), 3, -1, 'forward')",
    .bad = "fft_rfft(randn(3; complex)) => fft.rfft: needs real numbers: self is c64[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::fft_rfft_op
