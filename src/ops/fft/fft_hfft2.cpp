#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops::fft_hfft2_op {
namespace {

Tensor compose(Args a) { return transform_all_half("fft.hfft2", a, Direction::forward); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "fft_hfft2(Tensor self, int[]? s=None, int[] dim=[-2,-1], str? norm=None) -> Tensor",
    .doc = "hfft over two dimensions, resized to s. The last one has the real side.",
    .kind = OpKind::composite,
    .samples =
        "fft_hfft2(randn(2, 4, 3; complex))\n"
        "fft_hfft2(randn(3, 4; complex), [2, 5], [1, 0], 'ortho')",
    .bad = "fft_hfft2(randn(2, 2), [2], [0, 1]) => fft.hfft2: s and dim differ in length: s is [2], dim is [0, 1]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::fft_hfft2_op
