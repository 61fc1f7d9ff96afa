#include "ops/common.h"
#include "ops/variants.h"

namespace dyadic::inline v1::ops::rsub_op {

extern constexpr OpDef record = {
    .sig = "rsub(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    .doc = "other - alpha self.",
    .kind = OpKind::composite,
    .samples = "rsub(rand(3, 5), rand(5))\nrsub(rand(3, 5), 2, 0.5)",
    .bad =
        "rsub(mask(2), 1) => rsub: bool has no minus: an operand is bool[2]; use ~ or logical_not, ^ or logical_xor, or "
        "convert "
        "with .to first",
    .variant = rsub_variant,
};

}  // namespace dyadic::inline v1::ops::rsub_op
