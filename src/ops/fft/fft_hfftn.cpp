#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops::fft_hfftn_op {
namespace {

Tensor compose(Args a) { return transform_all_half("fft.hfftn", a, Direction::forward); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "fft_hfftn(Tensor self, int[]? s=None, int[]? dim=None, str? norm=None) -> Tensor",
    .doc =
        "hfft over several dimensions: dim, or the last ones that s has sizes for, or all; resized to s. The last one has the "
        "real side.",
    .kind = OpKind::composite,
    .samples =
        "fft_hfftn(randn(2, 4, 3; complex))\n"
        "fft_hfftn(randn(3, 4; complex), [2, 5], [1, 0], 'ortho')\n"
        "fft_hfftn(randn(2, 2, 4; complex), [3, 4])",
    .bad = "fft_hfftn(randn(2, 2), [2], [0, 1]) => fft.hfftn: s and dim differ in length: s is [2], dim is [0, 1]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::fft_hfftn_op
