#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops::fft_ihfftn_op {
namespace {

Tensor compose(Args a) { return transform_all_real("fft.ihfftn", a, Direction::inverse); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "fft_ihfftn(Tensor self, int[]? s=None, int[]? dim=None, str? norm=None) -> Tensor",
    .doc =
        "ihfft over several dimensions: dim, or the last ones that s has sizes for, or all; resized to s. The last one has the "
        "real side.",
    .kind = OpKind::composite,
    .samples =
        "fft_ihfftn(randn(2, 4, 3))\n"
        "fft_ihfftn(randn(3, 4), [2, 5], [1, 0], 'ortho')\n"
        "fft_ihfftn(randn(2, 2, 4), [3, 4])",
    .bad = "fft_ihfftn(randn(2, 2), [2], [0, 1]) => fft.ihfftn: s and dim differ in length: s is [2], dim is [0, 1]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::fft_ihfftn_op
