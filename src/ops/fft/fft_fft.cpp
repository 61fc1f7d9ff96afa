#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops::fft_fft_op {
namespace {

Tensor compose(Args a) {
  return transform("fft.fft", a[arg::self], a.arg(arg::n), a[arg::dim], a.arg(arg::norm), Direction::forward);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "fft_fft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
    .doc =
        "The Fourier transform sum_j x_j exp(-2 pi i j k / n) along dim, cut or padded with zeros to n elements. norm: "
        "backward (scales the inverse by 1 / n), forward or ortho (both by 1 / sqrt(n)).",
    .kind = OpKind::composite,
    .samples =
        "fft_fft(randn(2, 8))\n"
        "fft_fft(randn(3, 5; complex), 7, 0, 'ortho')\n"
        "fft_fft(randn(6), 4, -1, 'forward')",
    .bad =
        "fft_fft(zeros(3), 0) => fft.fft: a transform has at least one element: n is 0, self is f32[3]\n"
        "fft_fft(zeros(3), None, 0, 'unit') => fft.fft: unknown norm \"unit\"; the known ones are backward, forward and ortho\n"
        "fft_fft(zeros()) => fft.fft: a 0-d tensor has no dimension to transform: self is f32[]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::fft_fft_op
