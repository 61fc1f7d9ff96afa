#include "ops/create/triangle_indices.h"

namespace dyadic::inline v1::ops::tril_indices_op {
namespace {

Tensor compose(Args a) { return triangle_indices("tril_indices", a, true); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "Rows and columns ([2, n], int64) of the entries on and below a diagonal of a row x col matrix, row by row.",
    .kind = OpKind::composite,
    .samples =
        "tril_indices(3, 4)\n"
        "tril_indices(4, 3, -1)\n"
        "tril_indices(0, 3)",
    .bad =
        "tril_indices(-1, 2) => tril_indices: negative size: -1 x 2\n"
        "tril_indices(9000000000000000000, 9000000000000000000) => tril_indices: too many: 9000000000000000000 x "
        "9000000000000000000 with offset 0",
    .skip = "threads: the result has the product of the sizes",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::tril_indices_op
