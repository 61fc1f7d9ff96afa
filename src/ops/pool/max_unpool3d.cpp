#include "ops/pool/pool.h"

namespace dyadic::inline v1::ops::max_unpool3d_op {
namespace {

Tensor compose(Args a) { return unpooled("max_unpool3d", 3, a); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "max_unpool3d(Tensor input, Tensor indices, int[] kernel_size, int[]? stride=None, int[] padding=0, int[]? "
        "output_size=None) -> Tensor",
    .doc = "Zeros with input's elements at the places that max_pool's indices name: it undoes max_pool3d.",
    .kind = OpKind::composite,
    .samples = "max_unpool3d(randn(2, 2, 2, 2, 2), indices(8; 2, 2, 2, 2, 2), [2])",
    .bad = "max_unpool3d(zeros(3), indices(3; 3), [2]) => max_unpool3d: the input has 4 or 5 dimensions: input is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::max_unpool3d_op
