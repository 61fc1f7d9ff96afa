#include "ops/pool/pool.h"

namespace dyadic::inline v1::ops::max_unpool2d_op {
namespace {

Tensor compose(Args a) { return unpooled("max_unpool2d", 2, a); }

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "max_unpool2d(Tensor input, Tensor indices, int[] kernel_size, int[]? stride=None, int[] padding=0, int[]? "
        "output_size=None) -> Tensor",
    .doc = "Zeros with input's elements at the places that max_pool's indices name: it undoes max_pool2d.",
    .kind = OpKind::composite,
    .samples = "max_unpool2d(randn(2, 2, 2, 2), indices(4; 2, 2, 2, 2), [2])",
    .bad = "max_unpool2d(zeros(3), indices(3; 3), [2]) => max_unpool2d: the input has 3 or 4 dimensions: input is f32[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::max_unpool2d_op
