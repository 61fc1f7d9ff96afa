#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops::fft_ifft_op {
namespace {

Tensor compose(Args a) {
  return transform("fft.ifft", a[arg::self], a.arg(arg::n), a[arg::dim], a.arg(arg::norm), Direction::inverse);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "fft_ifft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
    .doc =
        "The inverse of fft along dim, cut or padded with zeros to n elements. norm: backward (scales the inverse by 1 / n), "
        "forward or ortho (both by 1 / sqrt(n)).",
    .kind = OpKind::composite,
    .samples =
        "fft_ifft(randn(2, 8; complex))\n"
        "fft_ifft(randn(3, 5; complex), 7, 0, 'ortho')\n"
        "fft_ifft(randn(6), 4, -1, 'forward')",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::fft_ifft_op
